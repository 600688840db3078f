#include "proc/supervisor.h"

#include "base/alarm.h"
#include "base/log.h"
#include "proc/child.h"
#include "proc/inherited.h"
#include "proc/kernel.h"
#include "proc/title.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Processes that outlive the command may be the tail of a pipeline: they get this time to end. */
#define LEFTOVER_TIME (100 * USEC_MSEC)

/* Measured: killing and reaping thousands of processes takes two to four times as long as sending
 * them another signal. */
#define KILL_PER_SIGNAL 4

/* The time between two looks at a tree that is being killed. */
#define SWEEP_APART (2 * USEC_MSEC)
#define SWEEP_APART_LATER (200 * USEC_MSEC)
#define STUBBORN_AFTER USEC_SEC
#define STUBBORN_APART_MAX (60 * USEC_SEC)

/* The number of looks in a row that must find no process, if waitpid(2) cannot answer. */
#define EMPTY_LOOKS 10

enum main_message_kind {
	MAIN_START, /* the lock is valid until valid_until */
	MAIN_EXTENDED,
	MAIN_LOSE,
	MAIN_SIGNAL,
	MAIN_SIGNAL_SEEN, /* a signal that the command has, and that is its own affair */
	MAIN_RESUME,
};

struct main_message {
	enum main_message_kind kind;
	int number;
	struct tree_request request; /* SIGNAL */
	usec valid_until;
};

/* ---- the supervisor process ---- */

struct watch {
	int fd, children, alarm;
	struct deadline deadline;
	struct supervisor_policy policy;
	bool sees_tree; /* /proc shows the processes of this namespace */
	bool main_is_dead; /* the supervisor acts alone */
	bool lost; /* redlock reported the loss; no later message revokes it */
	usec detach_at;

	pid_t command;
	usec started_at; /* of the command */
	bool running; /* not reaped yet */
	bool stopped;
	int status;

	sigset_t missed; /* signals to the group from before the command, not passed on yet */
	uint64_t seen_signals; /* a bit for each signal that was passed on or seen */
	bool end_requested; /* one of these signals requests termination, whatever the command's
			     * status is
			     */
	int request; /* the first TERM, INT or QUIT while the command ran; 0: none */
	struct tree_request requested;
	usec leftover_until; /* after the command's end: the remaining processes may end without a
				signal until then */
	usec term_at; /* when the remaining processes get TERM */
	int hidden_lack; /* a signal that children of the command lack if /proc hides them; 0: none
			  */

	bool sweeping; /* send SIGKILL to the whole tree, again and again */
	bool has_killed; /* a process of the tree was alive then */
	usec sweep_since, sweep_at;
	usec stubborn_at, stubborn_apart;
};

/* Sends without waiting. A failure is ignored: redlock is dead, or does not read. */
static void send_message(const struct watch *w, const struct supervisor_message *message)
{
	while (send(w->fd, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
		errno == EINTR)
		;
}

/* This message must not get lost, so wait if redlock is stopped and the socket is full. */
static void send_last_message(const struct watch *w, const struct supervisor_message *message)
{
	while (send(w->fd, message, sizeof(*message), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static uint64_t bit(int number)
{
	return number > 0 && number <= 64 ? (uint64_t)1 << (number - 1) : 0;
}

static void signal_command(const struct watch *w, int number)
{
	/* An unreaped pid is not reused. EPERM: the command may have changed to another user. */
	if (w->running && kill(w->command, number) < 0)
		assert(errno == ESRCH || errno == EPERM || errno == EINVAL);
}

/* The command gets the signal first, and only once: a shell would run its trap twice. If it takes
 * long to signal a tree, it takes longer to kill it: start earlier. */
static void signal_tree(struct watch *w, int number, const struct tree_request *earlier)
{
	usec began = clock_now();
	struct tree tree;

	if (number == SIGTERM)
		w->term_at = NEVER;

	signal_command(w, number);
	signal_command(w, SIGCONT);
	tree = tree_signal_and_continue(getpid(), w->running ? w->command : 0, number, earlier);
	w->hidden_lack = w->running && tree.hidden == 0 ? number : 0;
	deadline_needs(&w->deadline, KILL_PER_SIGNAL * (clock_now() - began));
}

/* The signal requests that the command terminates, and later its descendants: a shell acts on it
 * only when the program that it waits for has ended. HUP makes many programs read their
 * configuration again: only the command gets it. */
static void note_request(struct watch *w, int number, const struct tree_request *request)
{
	bool is_request = number == SIGTERM || number == SIGINT || number == SIGQUIT;

	if (w->running && is_request && !w->request) {
		w->request = number;
		w->requested = *request;
		/* The command gets the signal only now. */
		if (!request->group)
			w->requested.at = tree_now();
	}
	if ((w->running && is_request) || (!w->running && w->end_requested))
		deadline_asked(&w->deadline, clock_now());
}

static void pass_on(struct watch *w, int number, const struct tree_request *request)
{
	sigdelset(&w->missed, number);
	w->seen_signals |= bit(number);
	w->end_requested |=
		number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
	/* Before the command gets the signal: processes of its trap are younger. */
	note_request(w, number, request);
	if (!w->running)
		signal_tree(w, number, request);
	else if (!request->group || getpgid(w->command) != request->group)
		signal_command(w, number);
	if (number == SIGTERM)
		signal_command(w, SIGCONT);
}

/* The terminal has sent the signal to the whole group. The command missed it if it did not exist
 * yet. Some of the processes that remain may be out of the terminal's reach; those of a gate
 * may stay. */
static void signal_seen(struct watch *w, int number, struct tree_request *request)
{
	w->seen_signals |= bit(number);
	if (w->running && sigismember(&w->missed, number) != 1)
		return;
	if (!w->running && w->policy.file_lock > 0)
		return;
	if (w->running)
		request->group = 0;
	pass_on(w, number, request);
}

/* Returns false if redlock is dead. */
static bool read_message(struct watch *w, bool *more)
{
	struct main_message message;
	ssize_t n;

	do
		n = recv(w->fd, &message, sizeof(message), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*more = n == (ssize_t)sizeof(message);
	if (!*more)
		return n < 0 && errno == EAGAIN;
	switch (message.kind) {
	case MAIN_START:
	case MAIN_EXTENDED:
		if (!w->lost)
			w->deadline.valid_until = message.valid_until;
		break;
	case MAIN_LOSE:
		w->lost = true;
		deadline_lose(&w->deadline, clock_now());
		break;
	case MAIN_SIGNAL:
		pass_on(w, message.number, &message.request);
		break;
	case MAIN_SIGNAL_SEEN:
		signal_seen(w, message.number, &message.request);
		break;
	case MAIN_RESUME:
		if (w->stopped)
			signal_command(w, SIGCONT);
		break;
	}
	return true;
}

static void read_messages(struct watch *w)
{
	bool more = true;

	while (!w->main_is_dead && more)
		if (!read_message(w, &more)) {
			w->main_is_dead = true;
			/* After redlock's death, the enclosing run only sees a command that left
			 * processes behind, and may release its lock: kill at once. */
			if (w->policy.is_nested)
				w->deadline.policy.grace = 0;
			log_say(LOG_ERRORS,
				w->deadline.policy.on_lost
					? "redlock was killed: the command is terminated"
					: "redlock was killed: the command runs on "
					  "without its lock");
			deadline_lose(&w->deadline, clock_now());
		}
}

/* Did the command end after a request, or by a signal? Then it left no process behind on
 * purpose. The processes that remain of a gate are safe: its file stays locked. */
static bool ended_on_request(const struct watch *w)
{
	if (w->policy.file_lock > 0)
		return w->end_requested;
	return w->end_requested || WIFSIGNALED(w->status) ||
	       (WEXITSTATUS(w->status) > 128 &&
		       w->seen_signals & bit(WEXITSTATUS(w->status) - 128));
}

static void command_ended(struct watch *w, int status)
{
	usec now = clock_now();

	w->running = false;
	w->status = status;
	w->leftover_until = now + LEFTOVER_TIME;
	if (!w->policy.wait_descendants)
		deadline_finished(&w->deadline);
	if (w->deadline.cause == CAUSE_NONE && ended_on_request(w))
		deadline_asked(&w->deadline, now);
	if (!w->sweeping) {
		w->stubborn_at = now + STUBBORN_AFTER;
		w->stubborn_apart = STUBBORN_AFTER;
	}
	/* They are children of this process now. */
	if (w->hidden_lack && w->deadline.cause != CAUSE_ASKED && !w->sweeping)
		tree_signal_hidden(w->hidden_lack);
	/* TERM went to the command alone, or to its group. If main has not reported it yet, its
	 * message is to be expected, with the group. */
	if (w->deadline.cause == CAUSE_ASKED && !w->sweeping)
		w->term_at = w->end_requested ? now
					      : now + usec_min(LEFTOVER_TIME,
							      w->deadline.policy.kill_after / 2);
}

static void command_stopped(struct watch *w, int number)
{
	struct supervisor_message message = {
		.kind = SUPERVISOR_STOPPED, .number = number, .pid = w->command};

	w->stopped = true;
	send_message(w, &message);
}

/* Returns false if no child remains, that is, the whole tree is gone. */
static bool reap(struct watch *w)
{
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
		if (pid <= 0 && !(pid < 0 && errno == EINTR))
			return pid == 0;
		/* Orphans of the tree are only reaped. */
		if (pid != w->command || !w->running)
			continue;
		if (WIFSTOPPED(status))
			command_stopped(w, WSTOPSIG(status));
		else if (WIFCONTINUED(status))
			w->stopped = false;
		else
			command_ended(w, status);
	}
}

static void report_stubborn(struct watch *w, usec now, const struct tree *tree)
{
	struct supervisor_message message = {.kind = SUPERVISOR_STUBBORN,
		.pid = w->command,
		.is_killed = w->sweeping,
		.tree = *tree};

	send_message(w, &message);
	w->stubborn_at = now + w->stubborn_apart;
	w->stubborn_apart = usec_min(2 * w->stubborn_apart, STUBBORN_APART_MAX);
}

static void sweep(struct watch *w, usec now)
{
	struct tree tree;

	if (now < w->sweep_at)
		return;
	signal_command(w, SIGKILL);
	tree = tree_signal(getpid(), SIGKILL, NULL);
	w->has_killed |= w->running || tree.alive > tree.refused;
	w->sweep_at =
		now + (now < w->sweep_since + STUBBORN_AFTER ? SWEEP_APART : SWEEP_APART_LATER);
	if (now >= w->stubborn_at)
		report_stubborn(w, now, &tree);
}

/* The command has ended on request, and other processes of its tree take longer: no KILL follows.
 * Returns the time of the next look. */
static usec wait_for_rest(struct watch *w, usec now)
{
	struct tree tree;

	if (now >= w->stubborn_at) {
		tree = tree_signal(getpid(), 0, NULL);
		report_stubborn(w, now, &tree);
	}
	return w->stubborn_at;
}

/* Does what is due; returns the time of the next look. */
static usec do_due(struct watch *w)
{
	usec now = clock_now(), wake_at;

	if (now >= w->term_at)
		signal_tree(w, SIGTERM, w->request == SIGTERM ? &w->requested : NULL);
	switch (deadline_step(&w->deadline, now, &wake_at)) {
	case DEADLINE_WAIT:
		break;
	case DEADLINE_TERM:
		signal_tree(w, deadline_signal(&w->deadline), NULL);
		break;
	case DEADLINE_SPREAD:
		if (w->running)
			tree_signal_older(getpid(), w->command, w->request, &w->requested);
		break;
	case DEADLINE_KILL:
		w->sweeping = true;
		w->sweep_since = w->sweep_at = now;
		w->stubborn_at = now + STUBBORN_AFTER;
		w->stubborn_apart = STUBBORN_AFTER;
		break;
	}
	if (w->sweeping) {
		sweep(w, now);
		wake_at = usec_min(wake_at, w->sweep_at);
	} else if (!w->running && w->deadline.cause == CAUSE_ASKED &&
		   w->deadline.policy.kill_after == NEVER) {
		wake_at = usec_min(wake_at, wait_for_rest(w, now));
	}
	if (!w->running && w->deadline.cause == CAUSE_NONE && !w->policy.wait_descendants)
		wake_at = usec_min(wake_at, w->leftover_until);
	return usec_min(wake_at, w->term_at);
}

/* True if the command is gone and its tree is gone or may stay. */
static bool is_finished(const struct watch *w, bool has_children)
{
	if (w->running || !has_children)
		return !w->running;
	return w->deadline.cause == CAUSE_NONE && !w->policy.wait_descendants &&
	       clock_now() >= w->leftover_until;
}

static void detach(struct watch *w)
{
	const int kept[] = {w->fd, w->children, w->alarm, log_fd(), w->policy.file_lock};

	inherited_keep_only(kept, sizeof(kept) / sizeof(kept[0]));
	w->detach_at = NEVER;
}

/* The command left processes running, and they need the file lock. redlock ends at the message: a
 * reader of its pipes must not wait for this process any longer. */
static void stay(const struct watch *w, struct supervisor_message *message)
{
	const int kept[] = {w->fd, w->policy.file_lock};

	inherited_keep_only(kept, sizeof(kept) / sizeof(kept[0]));
	inherited_drop_stderr();
	message->stays = true;
	send_last_message(w, message);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void watch_over(struct watch *w)
{
	struct supervisor_message message = {.kind = SUPERVISOR_ENDED, .pid = w->command};
	bool has_children;
	usec wake_at;

	while (has_children = reap(w), !is_finished(w, has_children)) {
		struct pollfd fds[] = {
			{.fd = w->children, .events = POLLIN},
			{.fd = w->alarm, .events = POLLIN},
			{.fd = w->main_is_dead ? -1 : w->fd, .events = POLLIN},
		};

		read_messages(w);
		wake_at = do_due(w);
		if (clock_now() >= w->detach_at)
			detach(w);
		alarm_set(w->alarm, usec_min(wake_at, w->detach_at));
		(void)alarm_wait(fds, 3, NEVER);
		signals_drain(w->children);
	}
	message.number = w->status;
	message.cause = w->deadline.cause;
	message.is_killed = w->has_killed;
	message.started_at = w->started_at;
	message.ended_at = clock_now();
	if (has_children)
		message.tree = tree_signal(getpid(), 0, NULL);
	if (has_children && w->policy.file_lock)
		stay(w, &message);
	else
		send_last_message(w, &message);
}

/* The preparations that need no lock. Returns an errno, or 0. */
static int prepare(struct watch *w)
{
	struct err e;

	/* Before the start of the command: on a busy machine the supervisor may have to wait long
	 * for a processor. */
	priority_raise(&w->policy.caller);
	/* The kernel continues the supervisor when redlock dies: a stopped supervisor would not
	 * notice that death. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || signals_only_children(&w->children, &e) < 0 ||
		(w->alarm = alarm_open(&e)) < 0)
		return errno ? errno : EIO;
	return w->sees_tree ? 0 : ESRCH;
}

/* Waits for the first message. Returns true if it is MAIN_START, false if redlock closes the
 * socket. */
static bool wait_for_start(struct watch *w)
{
	struct main_message message;
	struct iovec parts[] = {{&message, sizeof(message)}, {w->policy.late, w->policy.late_size}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	do
		n = recvmsg(w->fd, &header, 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(message) || message.kind != MAIN_START)
		return false;
	deadline_init(&w->deadline, &w->policy.deadline, clock_now(), message.valid_until);
	return true;
}

static int start(struct watch *w, char *const argv[], const struct signals *signals, pid_t redlock)
{
	usec ignored;
	int error;

	if (deadline_step(&w->deadline, clock_now(), &ignored) != DEADLINE_WAIT)
		return ETIME;
	error = child_start(argv, signals, redlock, &w->policy.caller, -1, &w->command, &w->missed);
	w->started_at = clock_now();
	return error;
}

_Noreturn static void supervise(
	struct watch *w, char *const argv[], const struct signals *signals, pid_t redlock)
{
	struct supervisor_message message = {.kind = SUPERVISOR_FAILED, .pid = -1};

	message.number = prepare(w);
	if (!wait_for_start(w))
		_exit(0);
	if (!message.number) {
		message.number = start(w, argv, signals, redlock);
		message.pid = w->command;
	}
	if (message.number) {
		/* Here, because main may have left the working directory. */
		if (message.pid == 0)
			program_explain(&message.why, argv[0], message.number);
		send_last_message(w, &message);
	} else {
		w->running = true;
		/* `pkill -9 -f 'redlock run'` must not kill both processes. */
		title_set(SUPERVISOR_NAME);
		/* After the start of the command, which would inherit the session. A session of its
		 * own keeps the supervisor out of reach of the terminal and of signals to the
		 * group, above all SIGSTOP. */
		(void)setsid();
		w->detach_at = clock_now() + DETACH_AFTER;
		watch_over(w);
	}
	_exit(0);
}

/* ---- main's side ---- */

#define CANNOT_START "cannot start the command"
#define CANNOT_SUPERVISE "cannot supervise the command"

int supervisor_try(struct err *e)
{
	if (kill(getpid(), 0) < 0)
		return err_call(e, CANNOT_SUPERVISE, "kill");
	/* If the supervisor is killed, redlock adopts its orphans. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		err_call(e, CANNOT_SUPERVISE, "prctl(PR_SET_CHILD_SUBREAPER)");
		return err_hint(e,
			"redlock must adopt the command's orphans to terminate them; this "
			"kernel or emulator (qemu-user) does not support that");
	}
	return 0;
}

int supervisor_prepare(struct supervisor *s, char *const argv[], const struct signals *signals,
	const struct supervisor_policy *policy, struct err *e)
{
	struct watch watch = {
		.policy = *policy,
		.term_at = NEVER,
		/* Here, and not in the new process, which would need more pages for it. */
		.sees_tree = tree_is_visible(),
	};
	pid_t redlock = getpid(), pid;
	int fds[2];

	supervisor_close(s);
	s->has_other_children = waitpid(-1, NULL, WNOHANG) >= 0;
	if (!s->has_other_children && errno != ECHILD)
		return err_call(e, CANNOT_START, "wait4");
	/* Do not start a command that could not be terminated later. */
	if (supervisor_try(e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_call(e, CANNOT_START, "socketpair");
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		watch.fd = fds[1];
		supervise(&watch, argv, signals, redlock);
	}
	close(fds[1]);
	if (pid < 0) {
		err_call(e, CANNOT_START, "fork");
		close(fds[0]);
		return -1;
	}
	s->pid = pid;
	s->fd = fds[0];
	s->late = policy->late;
	if (s->has_other_children)
		s->born = tree_birth(s->pid);
	return 0;
}

void supervisor_detach(void)
{
	inherited_drop();
}

static void send_to_supervisor(struct supervisor *s, const struct main_message *message)
{
	while (send(s->fd, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
		errno == EINTR)
		;
}

void supervisor_start(struct supervisor *s, usec valid_until, size_t late_len)
{
	struct main_message message = {.kind = MAIN_START, .valid_until = valid_until};
	struct iovec parts[] = {{&message, sizeof(message)}, {s->late, late_len}};
	const struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};

	while (sendmsg(s->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

void supervisor_extended(struct supervisor *s, usec valid_until)
{
	send_to_supervisor(
		s, &(struct main_message){.kind = MAIN_EXTENDED, .valid_until = valid_until});
}

void supervisor_lose(struct supervisor *s)
{
	send_to_supervisor(s, &(struct main_message){.kind = MAIN_LOSE});
}

void supervisor_signal(
	struct supervisor *s, const struct caught *caught, const struct tree_birth *arrived)
{
	send_to_supervisor(
		s, &(struct main_message){
			   .kind = caught->command_has_it ? MAIN_SIGNAL_SEEN : MAIN_SIGNAL,
			   .number = caught->number,
			   .request = {.at = *arrived, .group = caught->group},
		   });
}

void supervisor_resume(struct supervisor *s)
{
	send_to_supervisor(s, &(struct main_message){.kind = MAIN_RESUME});
}

int supervisor_fd(const struct supervisor *s)
{
	return s->fd;
}

enum supervisor_reading supervisor_read(struct supervisor *s, struct supervisor_message *message)
{
	ssize_t n;

	/* A supervisor that exits with an unread message resets the connection, once: its last
	 * message can be read after that. */
	do
		n = recv(s->fd, message, sizeof(*message), MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n == (ssize_t)sizeof(*message))
		return SUPERVISOR_READ_MESSAGE;
	return n < 0 && errno == EAGAIN ? SUPERVISOR_READ_NOTHING : SUPERVISOR_READ_DEATH;
}

void supervisor_check(struct supervisor *s)
{
	int status;

	if (s->pid > 0 && waitpid(s->pid, &status, WNOHANG | WUNTRACED) == s->pid) {
		if (WIFSTOPPED(status))
			kill(s->pid, SIGCONT);
		else
			s->pid = 0;
	}
}

bool supervisor_take_over(struct supervisor *s, struct tree *tree)
{
	pid_t pid;

	supervisor_check(s);
	if (s->pid > 0) {
		*tree = tree_signal(s->pid, SIGKILL, NULL);
		if (tree->alive > 0)
			return false;
		supervisor_close(s);
	}
	/* redlock has adopted the supervisor's children. */
	*tree = tree_signal(getpid(), SIGKILL, s->has_other_children ? &s->born : NULL);
	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0);
	/* A process that forks and exits all the time may escape a look, but waitpid(2) tells
	 * reliably that no children exist. If redlock has other children, looks must do. */
	s->empty_looks = tree->alive > 0 ? 0 : s->empty_looks + 1;
	return pid < 0 || (s->has_other_children && s->empty_looks >= EMPTY_LOOKS);
}

void supervisor_close(struct supervisor *s)
{
	struct pollfd gone = {.events = POLLIN};

	if (s->fd > 0)
		close(s->fd);
	s->fd = 0;
	if (s->pid <= 0)
		return;
	if (waitpid(s->pid, NULL, WNOHANG) == 0) {
		/* The supervisor may not have been started at all, or may be stopped or traced. */
		gone.fd = kernel_pidfd_open(s->pid);
		kill(s->pid, SIGKILL);
		/* Use poll, because waitpid(2) would also wait for a tracer. */
		while (gone.fd >= 0 && alarm_wait(&gone, 1, NEVER) < 0)
			;
		close(gone.fd);
		/* A tracer must detach before the supervisor can be reaped. */
		s->has_other_children |= waitpid(s->pid, NULL, WNOHANG) == 0;
	}
	s->pid = 0;
}
