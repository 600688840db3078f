# The programs of the tests, the suite, and checks of the source.

UNIT = $(sort $(wildcard tests/unit/*.c))
# The simulator replaces the timers, the resolver and the kernel's sockets, and watches the connections.
SIM = $(sort $(wildcard tests/sim/*.c))
SIM_OBJECTS = $(filter-out $(B)/base/alarm.o,$(filter $(B)/base/% $(B)/lock/% $(B)/proto/% $(B)/cli/% $(B)/report/% \
	$(B)/file/% $(B)/net/session.o $(B)/net/pool.o $(B)/net/conn.o $(B)/net/tls.o,$(OBJECTS)))
SIM_LDFLAGS = $(foreach f,socket socketpair connect setsockopt getsockopt getpeername send recv shutdown ioctl \
	conn_open conn_send conn_next_reply,-Wl,--wrap=$(f))
# Its nodes run the scripts: sim in LuaJIT, which is fast, sim-lua in the Lua of Redis.
LUAJIT_CFLAGS ?= -I/usr/include/luajit-2.1
LUAJIT_LIBS ?= -lluajit-5.1
LUA_CFLAGS ?= -I/usr/include/lua5.1
LUA_LIBS ?= -llua5.1
TOOLS = $(patsubst tests/tools/%.c,$(B)/tools/%,$(wildcard tests/tools/*.c))
$(B)/tools/poller $(B)/tools/ask: TOOL_LIBS = $(HIREDIS_LIBS)
$(B)/tools/%.so: REDLOCK_LDFLAGS = -shared -fPIC
# The first are also loaded into programs without sanitizers; the second starts thousands of times.
$(B)/tools/%.so $(B)/tools/ask: override CFLAGS := $(filter-out -fsanitize=%,$(CFLAGS))
FUZZ = $(sort $(wildcard tests/fuzz/*.c))

# The unit tests link the same objects; one binary for all of them.
$(B)/unit: $(UNIT:tests/%.c=$(B)/tests/%.o) $(OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(TLS_LIBS)

$(B)/sim: $(SIM:tests/%.c=$(B)/tests/%.o) $(SIM_OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) $(SIM_LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(LUAJIT_LIBS) $(TLS_LIBS) -lcrypto -lm

$(B)/sim-lua: $(patsubst %/server.o,%/server-lua.o,$(SIM:tests/%.c=$(B)/tests/%.o)) $(SIM_OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) $(SIM_LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(LUA_LIBS) $(TLS_LIBS) -lcrypto -lm

# Every target on its corpus; and the binary for AFL, with CC=afl-clang-fast: build/fuzz TARGET @@
$(B)/fuzz: $(FUZZ:tests/%.c=$(B)/tests/%.o) $(filter-out $(B)/cmd/%,$(OBJECTS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(TLS_LIBS)

# The simulator's server next to a real one, both with the Lua of Redis.
$(B)/differ: $(B)/tests/differ/main.o $(B)/tests/sim/server-lua.o $(filter $(B)/base/% $(B)/lock/% $(B)/proto/%,$(OBJECTS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(LUA_LIBS) -lcrypto -lm

$(B)/tests/sim/server.o: private REDLOCK_CFLAGS += $(LUAJIT_CFLAGS)
$(B)/tests/sim/server-lua.o: private REDLOCK_CFLAGS += $(LUA_CFLAGS)
$(B)/tests/sim/server-lua.o: tests/sim/server.c
	@mkdir -p $(@D)
	@echo "  CC      $< (Lua)"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) -Itests $(CFLAGS) -c -o $@ $<

$(B)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) -Itests $(CFLAGS) -c -o $@ $<

$(B)/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $< $(TOOL_LIBS)

$(B)/tools/limit $(B)/tools/limit_contended: tests/tools/limit.h

# It makes the program's own requests.
$(B)/tools/limit_same: tests/tools/limit_same.c tests/tools/limit.h $(filter $(B)/base/% $(B)/lock/% $(B)/proto/%,$(OBJECTS))
	@mkdir -p $(@D)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^)

# It runs the program's own sessions.
$(B)/tools/crowd: tests/tools/crowd.c $(filter-out $(B)/cmd/%,$(OBJECTS))
	@mkdir -p $(@D)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(HIREDIS_LIBS) $(TLS_LIBS)

# The hasty program, for tests that would wait long for a constant of redlock: these files have some (UNLESS_HASTY in
# base/clock.h). All its other objects are the program's.
HASTY = cmd/client file/file lock/pace proc/hook
HASTY_OBJECTS = $(HASTY:%=$(B)/hasty/%.o)
$(B)/hasty/redlock: $(HASTY_OBJECTS) $(filter-out $(HASTY:%=$(B)/%.o),$(B)/main.o $(OBJECTS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(TLS_LIBS)

$(HASTY_OBJECTS): $(B)/hasty/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  CC      $< (hasty)"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) -DHASTY $(CFLAGS) -c -o $@ $<

## Tests

BATS_FILES = $(sort $(wildcard tests/bats/*.bats))
# Other programs' locks, if their requirements are installed: npm, or Debian's packages.
INTEROP_ALL = $(addprefix tests/interop/,npm.bats django.bats php.bats symfony.bats perl.bats ruby.bats)
INTEROP := $(if $(shell command -v npm),tests/interop/npm.bats) \
	$(if $(wildcard /usr/lib/python3/dist-packages/django_redis),tests/interop/django.bats) \
	$(if $(shell command -v php),tests/interop/php.bats) \
	$(if $(wildcard /usr/share/php/Symfony/Component/Lock/autoload.php),tests/interop/symfony.bats) \
	$(if $(wildcard /usr/share/perl5/Redis.pm),tests/interop/perl.bats) \
	$(if $(wildcard /usr/share/rubygems-integration/all/gems/redis-[0-9]*),tests/interop/ruby.bats)
LEFT_OUT = $(filter-out $(INTEROP),$(INTEROP_ALL))
# Faults of networks, clocks and system calls.
FAULTS = syscalls tests/faults/faults.bats
# Networks of the world: names that move, delays, HAProxy.
LAB = $(sort $(wildcard tests/lab/*.bats))
# Conversations with programs of the same kind: flock, timeout and so on.
PEERS = $(sort $(wildcard tests/peers/*.bats))
SUITE = lint unit fuzz sim $(BATS_FILES) $(PEERS) $(FAULTS) $(LAB) $(INTEROP)
# Parts that take long: `check` leaves them to `check-rest`.
LONG = sim $(addprefix tests/bats/,auth.bats completions.bats doctor.bats failures.bats forgotten.bats guard.bats \
	hold.bats hostile.bats install.bats life.bats lists.bats lua.bats quoting.bats recipes.bats rolling.bats static.bats \
	supervise.bats tls.bats torture.bats worlds.bats) $(PEERS) $(FAULTS) $(LAB) $(INTEROP)
# These test scripts, pages and packages, or compare runs of one simulator, or build a program of their own: sanitizers
# find nothing there.
TEXTS = $(addprefix tests/bats/,completions.bats docs.bats gen.bats install.bats lua.bats man.bats packaging.bats \
	pristine.bats static.bats suite.bats worlds.bats)
PART = unit fuzz $(filter-out $(TEXTS),$(BATS_FILES))

check-fast: check-built ## for each change: lint, unit tests, fuzz corpus; seconds
	$(Q)CC="$(CC)" tests/run $(B) lint unit fuzz

check: check-built ## for each larger change: all but the long parts; six minutes
	$(Q)CC="$(CC)" tests/run $(B) brief-sim $(filter-out $(LONG),$(SUITE))

# check and check-rest together run each file once: the long files on the build with sanitizers.
check-rest: PLAIN = $(filter-out $(PART),$(LONG))
check-rest: SANITIZED = unit fuzz $(filter $(PART),$(LONG))
check-all: PLAIN = $(SUITE)
check-all: SANITIZED = $(PART)
check-rest: check-built ## the parts that check leaves out, with sanitizers where they find something
check-all: check-built ## for a reviewer: all, also with sanitizers; half an hour
check-rest check-all:
	$(Q)$(MAKE) --no-print-directory $(SAN) check-built
	$(Q)$(SAN_STRICT) CC="$(CC)" tests/run $(B) $(PLAIN) build/san $(SANITIZED)
	$(Q)tests/portability/servers $(B)
	$(if $(LEFT_OUT),@echo "not tested: $(LEFT_OUT) (make interop)")

check-suite: check-built ## all on one build
	$(Q)CC="$(CC)" tests/run $(B) $(SUITE)

# One target per tool: each builds into its own folder and runs the whole suite on it.
SAN = B=build/san CFLAGS="-O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer"
SAN_STRICT = UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
check-san: ## unit, fuzz and bats with ASan and UBSan
	$(Q)$(SAN_STRICT) LEAKS=1 $(MAKE) --no-print-directory $(SAN) check-part

check-tsan: ## unit, fuzz and bats with the thread sanitizer
	$(Q)TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 $(MAKE) --no-print-directory B=build/tsan check-part \
		CFLAGS="-O1 -g -fsanitize=thread -fno-omit-frame-pointer"

check-part: check-built ## unit, fuzz and bats on one build
	$(Q)tests/run $(B) $(PART)

# In parallel, unless make was told otherwise.
check-built: ## the programs of the tests, for tests/run
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) built

built: $(B)/redlock $(B)/redlock-gen $(B)/unit $(B)/fuzz $(B)/sim $(B)/sim-lua $(B)/differ $(B)/hasty/redlock $(TOOLS) ## the same, without jobs in parallel

## Style

lint: $(B)/redlock-gen ## rules that no compiler checks
	$(Q)REDLOCK_BUILD="$(B)" CC="$(CC)" tests/lint

STYLED = $(wildcard src/*.c src/*/*.[ch] tests/*/*.[ch])
fmt: ## clang-format (14)
	$(Q)clang-format -i $(STYLED)

fmt-check: ## name the lines that clang-format would change
	$(Q)clang-format --dry-run -Werror $(STYLED)

tidy: $(B)/proto/scripts.inc ## clang-tidy (14)
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $(SOURCES) $(GEN) src/main.c -- \
		-std=gnu11 -D_GNU_SOURCE -Isrc -I$(B)

.PHONY: check check-rest check-all check-suite check-fast check-san check-tsan check-part check-built built lint fmt fmt-check tidy
