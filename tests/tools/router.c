/*
 * router PID_A PID_B FILE: the way between the network namespaces of two processes. It makes a TUN
 * device `far` in each, and carries the IPv4 packets of one to the other, each after a delay. The
 * owner of the namespaces gives the devices their addresses. FILE has lines "ADDRESS WHAT": the
 * delay, in milliseconds, of each packet to or from ADDRESS; or `silent`, if it drops them. The
 * line of the address `all` is for all other addresses. FILE is read again for the next packet
 * after it was replaced (rename). Prints a line when it carries packets, and stays until it is
 * killed, or its parent ends.
 *
 * The packets of an address arrive in the order in which they were sent, also after a change of its
 * delay. Packets that are on their way arrive, also if their address became silent.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX 2048
#define HEADER_LEN 20 /* of IPv4, without options */
#define ADDRESSES_MAX 32
#define NSEC_PER_MSEC 1000000
#define NSEC_PER_SEC 1000000000LL
#define SILENT (-1)

struct packet {
	struct packet *next;
	int64_t due;
	size_t len;
	uint8_t bytes[PACKET_MAX];
};

/* The packets on their way to one of the two sides, the first one first. */
struct queue {
	struct packet *first, *last;
};

/* An address that a line of the file, or a packet, had; queue[i] leads to side i. */
struct route {
	uint32_t address; /* in network order; 0: `all` */
	int64_t delay; /* in nanoseconds, or SILENT */
	bool has_line;
	struct queue queue[2];
};

static struct route routes[ADDRESSES_MAX];
static int route_count;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

_Noreturn static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The descriptor of a new device `far` in the namespace of that process. */
static int open_tun(const char *pid)
{
	struct ifreq request = {.ifr_name = "far", .ifr_flags = IFF_TUN | IFF_NO_PI};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		die(path);
	close(fd);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
		die("/dev/net/tun");
	return fd;
}

/* The route of that address, which is a new one if there was none. */
static struct route *route_of(uint32_t address)
{
	for (int i = 0; i < route_count; i++)
		if (routes[i].address == address)
			return &routes[i];
	if (route_count == ADDRESSES_MAX) {
		fprintf(stderr, "router: more than %d addresses\n", ADDRESSES_MAX);
		exit(1);
	}
	routes[route_count].address = address;
	return &routes[route_count++];
}

static void read_line(char *line)
{
	char name[64], what[64];
	uint32_t address = 0;
	struct route *route;

	if (sscanf(line, "%63s %63s", name, what) != 2 ||
		(strcmp(name, "all") != 0 && inet_pton(AF_INET, name, &address) != 1)) {
		fprintf(stderr, "router: not 'ADDRESS WHAT': %s\n", line);
		exit(1);
	}
	route = route_of(address);
	route->has_line = true;
	if (strcmp(what, "silent") == 0)
		route->delay = SILENT;
	else
		route->delay = (int64_t)(atof(what) * NSEC_PER_MSEC);
}

/* Reads the file, unless it is the one that was read last. */
static void read_file(const char *path)
{
	static ino_t last_inode;
	static struct timespec last_time;
	struct stat st;
	char line[256];
	FILE *f;

	if (stat(path, &st) < 0)
		die(path);
	if (st.st_ino == last_inode && st.st_mtim.tv_sec == last_time.tv_sec &&
		st.st_mtim.tv_nsec == last_time.tv_nsec)
		return;
	last_inode = st.st_ino;
	last_time = st.st_mtim;
	f = fopen(path, "r");
	if (!f)
		die(path);
	for (int i = 0; i < route_count; i++)
		routes[i].has_line = false;
	while (fgets(line, sizeof(line), f))
		read_line(line);
	fclose(f);
}

/* The server's address in a packet from side `from`: side 1 has the servers. */
static uint32_t server_of(const struct packet *p, int from)
{
	uint32_t address;

	memcpy(&address, p->bytes + (from == 1 ? 12 : 16), sizeof(address));
	return address;
}

/* Queues the packet for the other side; false if its address is silent. */
static bool send_off(struct packet *p, int from)
{
	struct route *route = route_of(server_of(p, from));
	struct queue *queue = &route->queue[!from];
	int64_t delay = route->has_line ? route->delay : route_of(0)->delay;

	if (delay == SILENT)
		return false;
	p->next = NULL;
	p->due = now() + delay;
	if (queue->first && p->due < queue->last->due)
		p->due = queue->last->due;
	*(queue->first ? &queue->last->next : &queue->first) = p;
	queue->last = p;
	return true;
}

/* Takes all packets that side `from` has sent. Packets of IPv6 end here: the kernel's own. */
static void take_packets(int fd, int from, const char *path)
{
	struct packet *p = malloc(sizeof(*p));

	while (p) {
		ssize_t n = read(fd, p->bytes, sizeof(p->bytes));

		if (n < 0)
			break;
		if (n < HEADER_LEN || p->bytes[0] >> 4 != 4)
			continue;
		read_file(path);
		p->len = (size_t)n;
		if (send_off(p, from))
			p = malloc(sizeof(*p));
	}
	free(p);
}

/* Hands over each packet that is due; returns when the next one is, or -1 if there is none. */
static int64_t deliver(const int fd[2])
{
	int64_t next = -1;

	for (int i = 0; i < 2 * route_count; i++) {
		struct queue *queue = &routes[i / 2].queue[i % 2];

		while (queue->first && queue->first->due <= now()) {
			struct packet *p = queue->first;

			/* A device that is full drops it, as any router does. */
			if (write(fd[i % 2], p->bytes, p->len) < 0)
				perror("router");
			queue->first = p->next;
			free(p);
		}
		if (queue->first && (next < 0 || queue->first->due < next))
			next = queue->first->due;
	}
	return next;
}

/* Waits for packets, until `next`; -1: for as long as it takes. */
static void wait_until(int64_t next, const int fd[2])
{
	struct pollfd polled[2] = {
		{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
	int64_t rest = next - now() > 0 ? next - now() : 0;
	struct timespec ts = {.tv_sec = rest / NSEC_PER_SEC, .tv_nsec = rest % NSEC_PER_SEC};

	(void)ppoll(polled, 2, next < 0 ? NULL : &ts, NULL);
}

int main(int argc, char *argv[])
{
	struct sched_param first = {.sched_priority = 1};
	int fd[2];

	if (argc != 4) {
		fprintf(stderr, "usage: router PID_A PID_B FILE\n");
		return 64;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Without it the kernel adds 50 us to each wait. A busy machine is not to add more. */
	prctl(PR_SET_TIMERSLACK, 1);
	(void)sched_setscheduler(0, SCHED_FIFO, &first);
	read_file(argv[3]);
	for (int i = 0; i < 2; i++)
		fd[i] = open_tun(argv[1 + i]);
	printf("carrying\n");
	fflush(stdout);
	for (;;) {
		wait_until(deliver(fd), fd);
		for (int i = 0; i < 2; i++)
			take_packets(fd[i], i, argv[3]);
	}
}
