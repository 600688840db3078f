# redlock. `make` builds, `make check` tests; HACKING.md explains the rest.
# V=1 shows the commands; DEVELOPER=1 turns warnings into errors.

# Install folders; packagers set DESTDIR, a prefix of all of them.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc/redlock
BASHCOMPDIR ?= $(DATADIR)/bash-completion/completions
ZSHCOMPDIR ?= $(DATADIR)/zsh/site-functions
FISHCOMPDIR ?= $(DATADIR)/fish/vendor_completions.d
# yes: install the program without debug information.
STRIP ?= no

CC ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
B ?= $(if $(filter yes,$(STATIC)),build/static,build)

# hiredis is linked in if its archive is installed: loading it as a shared library adds 6 % to every run. Packagers who
# want the shared one set HIREDIS_LIBS=-lhiredis.
HIREDIS_ARCHIVE := $(shell $(CC) -print-file-name=libhiredis.a)
HIREDIS_LIBS ?= $(if $(filter /%,$(HIREDIS_ARCHIVE)),$(HIREDIS_ARCHIVE),-lhiredis)
REDLOCK_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Isrc -I$(B) -pthread -MMD -MP \
	-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	-Wno-format-nonliteral
ifdef DEVELOPER
REDLOCK_CFLAGS += -Werror
endif
# Options that make bugs in the program harder to exploit; their cost is not measurable. HARDENING=no disables them.
HARDENING ?= yes
MACHINE := $(shell $(CC) -dumpmachine)
ifneq ($(HARDENING),no)
REDLOCK_CFLAGS += -fPIE -fstack-protector-strong $(CLASH) $(BRANCHES) $(FORTIFY)
HARDENED_LINK = $(if $(filter yes,$(STATIC)),-static-pie,-pie) -Wl,-z,relro,-z,noexecstack
endif
# clang supports it on some processors only.
CLASH := $(shell $(CC) -Werror -fstack-clash-protection -c -o /dev/null -x c /dev/null 2> /dev/null && echo -fstack-clash-protection)
# Indirect jumps only reach marked targets.
BRANCHES = $(if $(filter x86_64-%,$(MACHINE)),-fcf-protection)$(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard)
# It needs an optimiser, excludes sanitizers, and must not override the user's own definition.
FORTIFY = $(if $(OPTIMISED),$(if $(findstring -fsanitize=,$(CFLAGS))$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,\
	-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
OPTIMISED = $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
# The same source makes the same program, in any folder.
REDLOCK_CFLAGS += "-fdebug-prefix-map=$(CURDIR)=."

# Two segments fewer to map, and to copy for the supervisor; and the supervisor's functions are looked up once, before
# the fork: 2 % of a run each.
REDLOCK_LDFLAGS = -pthread -Wl,-z,noseparate-code,-z,now $(HARDENED_LINK)
# OpenSSL is loaded when a node needs TLS: only its headers are needed. WITH_TLS=no does without.
WITH_TLS ?= yes
# STATIC=yes: one file without dependencies, in build/static. It can load no library, so OpenSSL's archives are linked
# in. The linker warns that some functions of the C library would load libraries: redlock calls none that does
# (net/resolve, net/tls).
ifeq ($(STATIC),yes)
REDLOCK_CFLAGS += -DSTATIC
REDLOCK_LDFLAGS += $(if $(HARDENED_LINK),,-static)
ifneq ($(WITH_TLS),no)
TLS_LIBS ?= $(foreach name,libssl.a libcrypto.a,$(or $(filter /%,$(shell $(CC) -print-file-name=$(name))),\
	$(error STATIC=yes links OpenSSL in, and $(name) is missing: install libssl-dev, or make WITH_TLS=no)))
endif
endif
ifeq ($(WITH_TLS),no)
REDLOCK_CFLAGS += -DWITHOUT_TLS
endif
Q = $(if $(V),,@)

LAYERS = base lock proto cli report file net proc cmd
SOURCES = $(foreach layer,$(LAYERS),$(sort $(wildcard src/$(layer)/*.c)))
OBJECTS = $(SOURCES:src/%.c=$(B)/%.o)
UNIT = $(sort $(wildcard tests/unit/*.c))
# The simulator replaces the timers, and the rest of net.
SIM = $(sort $(wildcard tests/sim/*.c))
SIM_OBJECTS = $(filter-out $(B)/base/alarm.o,$(filter $(B)/base/% $(B)/lock/% $(B)/proto/% $(B)/cli/% $(B)/report/% \
	$(B)/net/session.o $(B)/net/pool.o,$(OBJECTS)))
# Its nodes run the scripts: sim in LuaJIT, which is fast, sim-lua in the Lua of Redis.
LUAJIT_CFLAGS ?= -I/usr/include/luajit-2.1
LUAJIT_LIBS ?= -lluajit-5.1
LUA_CFLAGS ?= -I/usr/include/lua5.1
LUA_LIBS ?= -llua5.1
TOOLS = $(patsubst tests/tools/%.c,$(B)/tools/%,$(wildcard tests/tools/*.c))
$(B)/tools/poller: TOOL_LIBS = $(HIREDIS_LIBS)
$(B)/tools/%.so: REDLOCK_LDFLAGS = -shared -fPIC
# They are also loaded into programs without sanitizers.
$(B)/tools/%.so: override CFLAGS := $(filter-out -fsanitize=%,$(CFLAGS))
FUZZ = $(sort $(wildcard tests/fuzz/*.c))
STYLED = $(wildcard src/*.c src/*/*.[ch] tests/*/*.[ch])

all: $(B)/redlock

$(B)/redlock: $(B)/main.o $(OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(TLS_LIBS)

# Writes the parts of pages that come from the tables.
GEN = $(sort $(wildcard src/gen/*.c))
GENERATED = $(wildcard man/*)
$(B)/redlock-gen: $(GEN:src/%.c=$(B)/%.o) $(filter $(B)/base/% $(B)/lock/% $(B)/proto/% $(B)/cli/%,$(OBJECTS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^

gen: $(B)/redlock-gen
	$(Q)$(B)/redlock-gen $(GENERATED)

gen-check: $(B)/redlock-gen
	$(Q)$(B)/redlock-gen --check $(GENERATED)

$(B)/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) $(CFLAGS) -c -o $@ $<

# The program contains the scripts.
$(B)/cmd/completion.o: $(wildcard completions/*)

# And it has the scripts that run on nodes. Their numbers are from these headers.
LUA_SCRIPTS = $(sort $(wildcard src/proto/lua/*.lua))
LUA_HEADERS = src/base/token.h src/lock/policy.h src/proto/request.h src/proto/reply.h src/lock/operations.def
$(B)/proto/scripts.inc: scripts/embed-lua $(LUA_SCRIPTS) $(wildcard src/proto/lua/parts/*.lua) $(LUA_HEADERS)
	@mkdir -p $(@D)
	@echo "  LUA     $@"
	$(Q)scripts/embed-lua $(LUA_HEADERS) $(LUA_SCRIPTS) > $@.new && mv $@.new $@

$(B)/proto/scripts.o: $(B)/proto/scripts.inc

# The unit tests link the same objects; one binary for all of them.
$(B)/unit: $(UNIT:tests/%.c=$(B)/tests/%.o) $(OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(TLS_LIBS)

$(B)/sim: $(SIM:tests/%.c=$(B)/tests/%.o) $(SIM_OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LUAJIT_LIBS) -lcrypto -lm

$(B)/sim-lua: $(patsubst %/server.o,%/server-lua.o,$(SIM:tests/%.c=$(B)/tests/%.o)) $(SIM_OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LUA_LIBS) -lcrypto -lm

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

# It runs the program's own sessions.
$(B)/tools/crowd: tests/tools/crowd.c $(filter-out $(B)/cmd/%,$(OBJECTS))
	@mkdir -p $(@D)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CPPFLAGS) $(REDLOCK_CFLAGS) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(HIREDIS_LIBS) $(TLS_LIBS)

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)

# ---- tests ----

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
# Conversations with programs of the same kind: flock, timeout and so on.
PEERS = $(sort $(wildcard tests/peers/*.bats))
SUITE = lint unit fuzz sim $(BATS_FILES) $(PEERS) $(FAULTS) $(INTEROP)
# Parts that take long: `check` leaves them to `check-rest`.
LONG = sim $(addprefix tests/bats/,auth.bats completions.bats doctor.bats failures.bats forgotten.bats guard.bats \
	hold.bats hostile.bats install.bats life.bats lua.bats quoting.bats recipes.bats rolling.bats static.bats storm.bats \
	supervise.bats \
	tls.bats torture.bats) $(PEERS) $(FAULTS) $(INTEROP)
# These test scripts, pages and packages, or build a program of their own: sanitizers find nothing there.
TEXTS = $(addprefix tests/bats/,completions.bats docs.bats gen.bats install.bats lua.bats man.bats packaging.bats \
	pristine.bats static.bats suite.bats)
PART = unit fuzz $(filter-out $(TEXTS),$(BATS_FILES))

# For each larger change: about six minutes on two cores.
check: check-built
	$(Q)CC="$(CC)" tests/run $(B) brief-sim $(filter-out $(LONG),$(SUITE))

# The parts that `check` leaves out, and the suite on a build with sanitizers. The long files run on that build only.
check-rest: PLAIN = $(filter-out $(PART),$(LONG))
# The whole suite, for a reviewer: on both builds.
check-all: PLAIN = $(SUITE)
check-rest check-all: check-built
	$(Q)$(MAKE) --no-print-directory $(SAN) check-built
	$(Q)$(SAN_STRICT) CC="$(CC)" tests/run $(B) $(PLAIN) build/san $(PART)
	$(Q)tests/portability/servers $(B)
	$(if $(LEFT_OUT),@echo "not tested: $(LEFT_OUT) (make interop)")

check-suite: check-built
	$(Q)CC="$(CC)" tests/run $(B) $(SUITE)

# Seconds: for each change.
check-fast: check-built
	$(Q)CC="$(CC)" tests/run $(B) lint unit fuzz

# One target per tool: each builds into its own folder and runs the whole suite on it.
SAN = B=build/san CFLAGS="-O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer"
SAN_STRICT = UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
check-san:
	$(Q)$(SAN_STRICT) $(MAKE) --no-print-directory $(SAN) check-part

check-tsan:
	$(Q)TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 $(MAKE) --no-print-directory B=build/tsan check-part \
		CFLAGS="-O1 -g -fsanitize=thread -fno-omit-frame-pointer"

# One part at a time: under valgrind they need the processor all the time.
check-valgrind: check-built
	$(Q)rm -rf build/valgrind && mkdir -p build/valgrind && chmod 1777 build/valgrind
	$(Q)REDLOCK_UNDER="valgrind -q --log-file=$(CURDIR)/build/valgrind/%p --run-libc-freeres=no \
		--error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
		--show-leak-kinds=definite --trace-children=no" \
		BATS_TAGS='!not-under-valgrind' JOBS=$${JOBS:-1} tests/run $(B) $(BATS_FILES)
	$(Q)not_ours='WARNING: unhandled amd64-linux syscall|You may be able|README_MISSING|Nevertheless|bug_reports'; \
		if grep -rhvE "$$not_ours" build/valgrind; then exit 1; fi

# Faults on real nodes, row by row, and every system call of a run made to fail, one at a time; `check-all` has the first
# three and the last of each name. Needs root, and Debian's nftables and iproute2.
FAULTS = syscalls tests/faults/faults.bats
check-faults: check-built
	$(Q)ALL=1 tests/run $(B) $(FAULTS)

# Faults made on purpose, one at a time: the suite must notice each. MUTANTS="name name" for some.
check-mutants: $(B)/redlock
	$(Q)tests/mutants/run $(B) $(MUTANTS)

# redlock alongside each library that it is tested with. Needs Debian's php-cli, php-predis, php-symfony-lock,
# libredis-perl and ruby-redis; and node and npm (Debian's, or others), which fetches the rest once.
interop: check-built
	$(Q)tests/run $(B) tests/bats/interop.bats $(INTEROP_ALL)

# Every line and branch of src/lock, src/proto, src/cli and src/report.
cover:
	$(Q)CC="$(CC)" tests/cover $(B)/cover

# Another C library, and another processor: needs the source of hiredis, and Debian's cross compiler and emulator. Each
# script names the packages that it misses. FILES="x.bats y.bats" for some.
check-musl: $(TOOLS)
	$(Q)tests/portability/musl $(B) $(FILES)

check-arm64: $(TOOLS)
	$(Q)tests/portability/arm64 $(B) $(FILES)

# The files that depend most on the server, on the servers of Debian 13, which the script fetches once.
check-servers: check-built
	$(Q)tests/portability/servers $(B) $(FILES)

check-part: check-built
	$(Q)tests/run $(B) $(PART)

# In parallel, unless make was told otherwise.
check-built:
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) built

built: $(B)/redlock $(B)/redlock-gen $(B)/unit $(B)/fuzz $(B)/sim $(B)/sim-lua $(B)/differ $(TOOLS)

lint: $(B)/redlock-gen
	$(Q)REDLOCK_BUILD="$(B)" CC="$(CC)" tests/lint

fmt:
	$(Q)clang-format -i $(STYLED)

fmt-check:
	$(Q)clang-format --dry-run -Werror $(STYLED)

tidy: $(B)/proto/scripts.inc
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $(SOURCES) $(GEN) src/main.c -- \
		-std=gnu11 -D_GNU_SOURCE -Isrc -I$(B)

# One world, one line per event: make sim SEED=7 PROFILE=adversary
sim: $(B)/sim
	$(Q)$(B)/sim $(if $(SEED),--seed $(SEED)) $(if $(PROFILE),--profile $(PROFILE))

# Fresh seeds: make sim-soak MINUTES=60
sim-soak: $(B)/sim
	$(Q)$(B)/sim --minutes $(or $(MINUTES),10) $(if $(PROFILE),--profile $(PROFILE))

# MINUTES=n is the duration (10), SEED=n repeats the draws, FOREIGN=0 leaves node-redlock out.
torture: $(B)/redlock $(TOOLS)
	$(Q)tests/soak/torture $(B)

# All modes of redlock, while nodes lose data, stop, change rights and are cut off. MINUTES=n is the duration (10),
# SEED=n repeats the draws. The witness is a plain flock.
storm: $(B)/redlock $(TOOLS)
	$(Q)tests/soak/storm $(B)

# libFuzzer looks for inputs that break a target (tests/fuzz/main.c lists them): TARGET=x, MINUTES=n (5).
# Findings are in build/fuzz-x/found; inputs worth keeping go to tests/fuzz/corpus/x.
fuzz: $(B)/proto/scripts.inc
	@test -d "tests/fuzz/corpus/$(TARGET)" -a -n "$(TARGET)" || { echo "make fuzz TARGET=x: one of" $$(ls tests/fuzz/corpus) >&2; exit 1; }
	$(Q)mkdir -p build/fuzz-$(TARGET)/found build/fuzz-$(TARGET)/corpus
	$(Q)$(if $(findstring clang,$(CC)),$(CC),clang) -std=gnu11 -D_GNU_SOURCE -Isrc -I$(B) -Itests -O1 -g -w -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -DFUZZ_TARGET=fuzz_$(TARGET) -o build/fuzz-$(TARGET)/run \
		$(FUZZ) $(filter-out src/cmd/%,$(SOURCES)) -pthread $(HIREDIS_LIBS)
	$(Q)cd build/fuzz-$(TARGET) && ./run -max_total_time=$$((60 * $(or $(MINUTES),5))) -print_final_stats=1 \
		-timeout=10 -artifact_prefix=found/ corpus $(CURDIR)/tests/fuzz/corpus/$(TARGET)

# Every state of a small world, by Spin: minutes. DEPTH=long adds the long rows.
model:
	$(Q)CC="$(CC)" tests/model/run

bench: $(B)/redlock $(TOOLS)
	$(Q)$(MAKE) --no-print-directory B=$(B)/without-tls WITH_TLS=no $(B)/without-tls/redlock
	$(Q)tests/bench/run $(B)
	$(Q)tests/bench/tls $(B)
	$(Q)tests/bench/waiting $(B)
	$(Q)tests/bench/together $(B)
	$(Q)tests/bench/status $(B)

# Fencing numbers while nodes are killed and start again empty. NUMBERS=n is their number (2000).
numbers: $(B)/redlock $(TOOLS)
	$(Q)tests/soak/numbers $(B)

# A lock that is extended 100,000 times (EXTENSIONS=n) while nodes restart, passwords change and so on (FAILURES=n):
# does memory grow? UNDER=valgrind counts every byte.
extensions: $(B)/redlock
	$(Q)tests/soak/extensions $(B)

# LOSSES=n changes their number.
losses: $(B)/redlock $(TOOLS)
	$(Q)tests/soak/losses $(B)

# Clients that start together with -n: one of them gets the lock. ROUNDS=n is the number of each row (500).
rivals: $(B)/redlock $(TOOLS)
	$(Q)tests/soak/rivals $(B)

demo: $(B)/redlock
	$(Q)tests/demo $(B)/redlock

# A shell with three throwaway nodes. The exit status of the shell is no error of make; it is one if the nodes cannot be
# started, or if there is no terminal.
try: $(B)/redlock
	$(Q)$(B)/redlock sandbox -- true && { $(B)/redlock sandbox || [ -t 0 ]; }

# The pictures of README.md, from the output of real commands.
pictures: $(B)/redlock
	$(Q)scripts/pictures $(B)/redlock docs/pictures

# The manual pages as HTML, with the pictures, in build/html. References to other pages lead to Debian's.
HTML_STYLE = body { max-width: 52em; margin: 1em auto; padding: 0 1em; font-family: sans-serif } img { max-width: 100% }
html:
	$(Q)rm -rf $(B)/html && mkdir -p $(B)/html && cp docs/pictures/*.svg $(B)/html
	$(Q)set -e; cd man; for page in *.[1-9]; do \
		mandoc -T html -O 'toc,man=%N.%S.html;https://manpages.debian.org/%N.%S' $$page > $(abspath $(B))/html/$$page.html; \
	done
	$(Q)sed -i -e 's|</head>|<style>$(HTML_STYLE)</style></head>|' \
		-e '/^<h2.* id="redlock_run"/,/<.h2>/s|</h2>|&<img src="terminal.svg" alt="run, wait, status">|' \
		-e '/^<h2.* id="Terminating/,/<.h2>/s|</h2>|&<img src="timeline.svg" alt="time line of a lock">|' $(B)/html/*.html
	@echo $(B)/html/redlock.1.html

# README's commands in fresh minimal systems of Debian 12 and 13 (DEBIAN=13: one), by debootstrap, as root: an hour.
# ONLY=Install: the package installed, upgraded and removed.
pristine:
	$(Q)tests/pristine/run $(DEBIAN)

# The installed files: put FILE MODE WHERE, each. Pages and completions are optional.
define each_installed
	put $(B)/redlock 755 "$(BINDIR)/redlock"; \
	for page in man/*.[1-9]; do put "$$page" 644 "$(MANDIR)/man$${page##*.}/$${page##*/}"; done; \
	put completions/redlock.bash 644 "$(BASHCOMPDIR)/redlock"; \
	put completions/_redlock 644 "$(ZSHCOMPDIR)/_redlock"; \
	put completions/redlock.fish 644 "$(FISHCOMPDIR)/redlock.fish"; \
	for file in README.md CHANGELOG.md LICENSE; do put $$file 644 "$(DOCDIR)/$$file"; done
endef

install: $(B)/redlock
	$(Q)set -e; put() { \
		[ ! -e "$$1" ] || { echo "  INSTALL $(DESTDIR)$$3"; install -D -m $$2 "$$1" "$(DESTDIR)$$3"; }; \
	}; $(each_installed)
ifeq ($(STRIP),yes)
	$(Q)strip "$(DESTDIR)$(BINDIR)/redlock"
endif

uninstall:
	$(Q)put() { echo "  REMOVE  $(DESTDIR)$$3"; rm -f "$(DESTDIR)$$3"; }; $(each_installed)
	$(Q)rmdir "$(DESTDIR)$(DOCDIR)" 2> /dev/null || true

# The source archive: build/redlock-VERSION.tar.gz. Every clone of a commit gives the same bytes.
dist:
	$(Q)packaging/dist $(B)

# All files of a release, in build/release: the source archive, packages and static programs for amd64 and arm64,
# SHA256SUMS. docs/packaging.md names the required packages.
release:
	$(Q)packaging/release $(B)/release

# Builds the release a second time from its own archive and compares the bytes; then lintian, the packages' contents,
# and the static programs without other files. Needs Debian's lintian and qemu-user as well.
check-release: release check-built
	$(Q)BATS_TEST_TIMEOUT=3600 RELEASE="$(abspath $(B)/release)" tests/run $(B) tests/release/release.bats

clean:
	rm -rf build

.PHONY: all gen gen-check check check-rest check-all check-suite check-fast check-musl check-arm64 check-servers check-san check-tsan check-valgrind check-faults check-mutants check-part interop cover check-built built \
	lint fmt fmt-check tidy fuzz sim sim-soak torture storm model bench losses numbers rivals extensions demo try pictures html pristine install uninstall dist release check-release clean
