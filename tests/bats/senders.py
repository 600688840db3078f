# usage: senders.py FOLDER TRIALS WAY
# Starts redlock with tests/tools/heard as its command, TRIALS times, sends signals in that WAY, and prints how often the
# command has heard exactly what it should. Files are in FOLDER; REDLOCK_BUILD names the programs.
import collections, ctypes, os, pty, select, shlex, signal, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

folder, trials, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
build = os.environ["REDLOCK_BUILD"]
TERM, INT, HUP, CONT, ALRM = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCONT, signal.SIGALRM


def eventually(what, limit=20):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.01)
    raise TimeoutError


def text(path):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return ""


def parent(pid):
    return int(text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[1])


def children(pid):
    return [int(child) for child in text(f"/proc/{pid}/task/{pid}/children").split()]


def family(pid):
    return [pid] + [member for child in children(pid) for member in family(child)]


def main_of(pid):
    while text(f"/proc/{pid}/comm") not in ("redlock", "rl-supervisor"):
        pid = parent(pid)
    return parent(pid)


def is_stopped(pid):
    return text(f"/proc/{pid}/stat").rsplit(")", 1)[-1].split()[0] == "T"


def has_probe(main):
    return bool(probe_of(main))


# The probe is a child of main's child.
def probe_of(main):
    return [probe for child in named(children(main), "rl-probe") for probe in children(child)]


class Trial:
    def __init__(self, number):
        self.base = f"{folder}/{way}.{number}"
        options, before, quiet = COMMANDS.get(way, ([], [], "300"))
        hears = [*before, build + "/tools/heard", self.base + ".pid", quiet]
        self.words = [build + "/redlock", "run", "-k", f"{way}{number}", *options, "--", *hears]
        if way.startswith("locked"):
            self.words = ["env", f"LOCK_KEY={way}{number}", f"LOCK_RUN=exec {shlex.join(hears)}", f"LOCK_BINARY={build}/redlock",
                          os.path.dirname(__file__) + "/../../packaging/ci/locked"]
        self.line = " ".join(self.words) + f" > {self.base}.heard"

    # Returns main's pid, when the command runs and the probe exists.
    def ready(self):
        command = int(eventually(lambda: text(self.base + ".pid")))
        main = main_of(command)
        eventually(lambda: has_probe(main))
        return main

    def heard(self):
        eventually(lambda: text(self.base + ".heard"))
        return " ".join(text(self.base + ".heard").split())

    def started(self, *before):
        out = open(self.base + ".heard", "w")
        # a script of the tests ignores INT for what runs in the background
        return subprocess.Popen([*before, *self.words], stdin=subprocess.DEVNULL, stdout=out, start_new_session=True,
                                preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (INT, signal.SIGQUIT)])

    def by_program(self, send, *before):
        process = self.started(*before)
        try:
            send(process.pid, self.ready())
            return self.heard()
        finally:
            os.killpg(process.pid, signal.SIGCONT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # An interactive bash on a terminal: types the lines, one after the other. "CLOSE" closes the terminal.
    def by_shell(self, how, *steps):
        shell, terminal = pty.fork()
        if shell == 0:
            os.environ.update(PS1="$ ", HISTFILE="/dev/null", TERM="dumb")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        closed = threading.Event()

        def drain():
            try:
                while not closed.is_set():
                    if select.select([terminal], [], [], 0.05)[0] and not os.read(terminal, 4096):
                        return
            except OSError:
                pass

        reader = threading.Thread(target=drain)
        reader.start()
        is_open = True
        try:
            os.write(terminal, (self.line + how + "\n").encode())
            main = self.ready()
            for step in steps:
                if step == "CLOSE":
                    closed.set()
                    reader.join()
                    os.close(terminal)
                    is_open = False
                elif step in ("STOPPED", "CONTINUED"):
                    eventually(lambda: is_stopped(main) == (step == "STOPPED"))
                else:
                    os.write(terminal, step.encode())
            return self.heard()
        finally:
            if is_open:
                closed.set()
                reader.join()
                os.close(terminal)
            try:
                eventually(lambda: os.waitpid(shell, os.WNOHANG)[0], 10)
            except TimeoutError:
                os.kill(shell, signal.SIGKILL)
                os.waitpid(shell, 0)


def each(pids, *numbers):
    for number in numbers:
        for pid in pids:
            os.kill(pid, number)


def named(pids, name):
    return [pid for pid in pids if text(f"/proc/{pid}/comm") == name]


# The probe runs later than main: it is traced meanwhile (16: PTRACE_ATTACH, 17: PTRACE_DETACH, 0x40000000: __WALL).
def late(group, probe):
    def trace(request):
        if libc.ptrace(request, probe, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    trace(16)
    os.waitpid(probe, 0x40000000)
    os.killpg(group, TERM)
    time.sleep(0.02)
    trace(17)


# The probe has another program file soon after it was made.
def by_file(main):
    own = os.stat(f"/proc/{main}/exe")
    same = lambda pid: os.path.samestat(os.stat(f"/proc/{pid}/exe"), own)
    eventually(lambda: not same(probe_of(main)[0]))
    return [pid for pid in family(main) if same(pid)]


def twice(send, pid):
    send(pid, TERM)
    time.sleep(0.1)  # as long as the limit for one sender's signals to redlock and its group
    send(pid, TERM)


# way: options of redlock, words before the program that hears signals, and how long it then waits for more. A second
# signal would follow the first one after half of --kill-after.
TRAP = 'trap : TERM; "$@"; exit 3'
COMMANDS = {
    "other-group": ([], ["setsid"], "300"),
    "under-shell": ([], ["sh", "-c", '"$@"; true', "-"], "300"),
    "under-trap": (["--kill-after", "2s"], ["bash", "-c", TRAP, "-"], "1400"),
    "under-trap-in-session": (["--kill-after", "2s"], ["bash", "-c", TRAP, "-", "setsid", "--wait"], "300"),
}

# way: what the command should hear, and how it is sent; `first` is the first process, `main` is redlock's
WAYS = {
    "group": (("15x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, TERM))),
    "group-int": (("2x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, INT))),
    "group-hup-term": (("1x1 15x1",), lambda t: t.by_program(lambda first, main: (os.killpg(first, HUP), os.killpg(first, TERM)))),
    "group-twice": (("15x2",), lambda t: t.by_program(lambda first, main: twice(os.killpg, first))),
    "redlock": (("15x1",), lambda t: t.by_program(lambda first, main: os.kill(main, TERM))),
    "redlock-twice": (("15x2",), lambda t: t.by_program(lambda first, main: twice(os.kill, main))),
    "each": (("15x1",), lambda t: t.by_program(lambda first, main: each(sorted(family(main)), TERM))),
    "each-backwards": (("15x1",), lambda t: t.by_program(lambda first, main: each(sorted(family(main), reverse=True), TERM))),
    "by-name": (("15x1",), lambda t: t.by_program(lambda first, main: each(named(family(main), "redlock"), TERM))),
    "by-file": (("15x1",), lambda t: t.by_program(lambda first, main: each(by_file(main), TERM))),
    "by-file-twice": (("15x2",), lambda t: t.by_program(lambda first, main: twice(lambda pid, number: each(by_file(pid), number), main))),
    "other-group": (("15x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, TERM))),
    "under-shell": (("15x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, TERM))),
    "under-trap": (("15x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, TERM))),
    "under-trap-in-session": (("15x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, TERM))),
    "probe-stopped": (("15x1",), lambda t: t.by_program(lambda first, main: (
        each(probe_of(main), signal.SIGSTOP), os.killpg(first, TERM)))),
    "locked-group": (("15x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, TERM))),
    "locked-group-int": (("2x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, INT))),
    "locked-group-hup": (("1x1",), lambda t: t.by_program(lambda first, main: os.killpg(first, HUP))),
    "locked-each": (("15x1",), lambda t: t.by_program(lambda first, main: each(sorted(family(first)), TERM))),
    "locked-alone": (("15x1",), lambda t: t.by_program(lambda first, main: os.kill(first, TERM))),
    "locked-alone-int": (("2x1",), lambda t: t.by_program(lambda first, main: os.kill(first, INT))),
    "locked-alone-hup": (("1x1",), lambda t: t.by_program(lambda first, main: os.kill(first, HUP))),
    "children": (("15x1",), lambda t: t.by_program(lambda first, main: each([main, *children(main)], TERM))),
    "probe-late": (("15x1",), lambda t: t.by_program(lambda first, main: late(first, probe_of(main)[0]))),
    "timeout": (("15x1",), lambda t: t.by_program(lambda first, main: os.kill(first, ALRM), "timeout", "60")),
    "timeout-foreground": (("15x1",), lambda t: t.by_program(lambda first, main: os.kill(first, ALRM), "timeout", "--foreground", "60")),
    "kill-job": (("15x1",), lambda t: t.by_shell(" &", "kill %1\n")),
    "kill-job-int": (("2x1",), lambda t: t.by_shell(" &", "kill -INT %1\n")),
    "kill-pid": (("15x1",), lambda t: t.by_shell(" &", "kill $!\n")),
    "kill-stopped-job": (("15x1",), lambda t: t.by_shell("", "\x1a", "STOPPED", "kill %1\n", "fg\n")),
    "stopped": (("2x1",), lambda t: t.by_shell("", "\x1a", "STOPPED", "fg\n", "CONTINUED", "\x03")),
    "interrupt": (("2x1",), lambda t: t.by_shell("", "\x03")),
    "quit": (("3x1",), lambda t: t.by_shell("", "\x1c")),
    "hangup-of-job": (("1x1",), lambda t: t.by_shell(" &", "CLOSE")),
    # the kernel sends one, and bash may send another one, also without redlock
    "hangup": (("1x1", "1x2"), lambda t: t.by_shell("", "CLOSE")),
}

wanted, run = WAYS[way]


def result(number):
    try:
        return run(Trial(number))
    except Exception as e:
        return repr(e)


with ThreadPoolExecutor(5) as pool:
    counts = collections.Counter(pool.map(result, range(trials)))
print(sum(counts.pop(what, 0) for what in wanted), *(f"{n} of '{what}'" for what, n in counts.items()))
