# Tests that take long, need more than README's packages, or give figures.

## Long tests

# Faults on real nodes, row by row, and every system call of a run made to fail, one at a time; `check-all` has the first
# three and the last of each name. Needs root, and Debian's nftables and iproute2.
check-faults: check-built ## networks, clocks, every system call (root)
	$(Q)ALL=1 tests/run $(B) $(FAULTS)

check-mutants: $(B)/redlock ## faults made on purpose: does the suite notice? MUTANTS="x y"
	$(Q)tests/mutants/run $(B) $(MUTANTS)

model: ## every state of a small world, by Spin; DEPTH=long: more rows
	$(Q)CC="$(CC)" tests/model/run

sim: $(B)/sim ## one world, a line per event; SEED=7 PROFILE=adversary
	$(Q)$(B)/sim $(if $(SEED),--seed $(SEED)) $(if $(PROFILE),--profile $(PROFILE))

sim-soak: $(B)/sim ## the simulator with fresh seeds; MINUTES=60
	$(Q)$(B)/sim --minutes $(or $(MINUTES),10) $(if $(PROFILE),--profile $(PROFILE))

# libFuzzer looks for inputs that break a target (tests/fuzz/main.c lists them): TARGET=x, MINUTES=n (5).
# Findings are in build/fuzz-x/found; inputs worth keeping go to tests/fuzz/corpus/x.
fuzz: $(B)/proto/scripts.inc ## search for bytes that break a parser; TARGET=url MINUTES=5
	@test -d "tests/fuzz/corpus/$(TARGET)" -a -n "$(TARGET)" || { echo "make fuzz TARGET=x: one of" $$(ls tests/fuzz/corpus) >&2; exit 1; }
	$(Q)mkdir -p build/fuzz-$(TARGET)/found build/fuzz-$(TARGET)/corpus
	$(Q)$(if $(findstring clang,$(CC)),$(CC),clang) -std=gnu11 -D_GNU_SOURCE -Isrc -I$(B) -Itests -O1 -g -w -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -DFUZZ_TARGET=fuzz_$(TARGET) -o build/fuzz-$(TARGET)/run \
		$(FUZZ) $(filter-out src/cmd/%,$(SOURCES)) -pthread $(HIREDIS_LIBS)
	$(Q)cd build/fuzz-$(TARGET) && ./run -max_total_time=$$((60 * $(or $(MINUTES),5))) -print_final_stats=1 \
		-timeout=10 -artifact_prefix=found/ corpus $(CURDIR)/tests/fuzz/corpus/$(TARGET)

# MINUTES=n is the duration (10), SEED=n repeats the draws, FOREIGN=0 leaves node-redlock out.
torture: $(B)/redlock $(TOOLS) ## contention with node-redlock, under faults; MINUTES=10
	$(Q)tests/soak/torture $(B)

losses: $(B)/redlock $(TOOLS) ## the time between a loss and the end of the lock; LOSSES=n
	$(Q)tests/soak/losses $(B)

# A lock that is extended 100,000 times (EXTENSIONS=n) while nodes restart, passwords change and so on (FAILURES=n):
# does memory grow? UNDER=valgrind counts every byte.
extensions: $(B)/redlock ## does memory grow in a long run? EXTENSIONS=100000
	$(Q)tests/soak/extensions $(B)

## Other tools, systems and libraries

# One part at a time: under valgrind they need the processor all the time.
check-valgrind: check-built ## the bats files under valgrind
	$(Q)rm -rf build/valgrind && mkdir -p build/valgrind && chmod 1777 build/valgrind
	$(Q)REDLOCK_UNDER="valgrind -q --log-file=$(CURDIR)/build/valgrind/%p --run-libc-freeres=no \
		--error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
		--show-leak-kinds=definite --trace-children=no" \
		BATS_TAGS='!not-under-valgrind' JOBS=$${JOBS:-1} tests/run $(B) $(BATS_FILES)
	$(Q)not_ours='WARNING: unhandled amd64-linux syscall|You may be able|README_MISSING|Nevertheless|bug_reports'; \
		if grep -rhvE "$$not_ours" build/valgrind; then exit 1; fi

cover: ## do unit tests and simulator reach every line and branch?
	$(Q)CC="$(CC)" tests/cover $(B)/cover

# Another C library, and another processor: needs the source of hiredis, and Debian's cross compiler and emulator. Each
# script names the packages that it misses. FILES="x.bats y.bats" for some.
check-musl: $(TOOLS) ## another C library
	$(Q)tests/portability/musl $(B) $(FILES)

check-arm64: $(TOOLS) ## another processor, by qemu-user
	$(Q)tests/portability/arm64 $(B) $(FILES)

# The files that depend most on the server, on the servers of Debian 13, which the script fetches once.
check-servers: check-built ## the servers of Debian 13; FILES="x.bats y.bats"
	$(Q)tests/portability/servers $(B) $(FILES)

# redlock alongside each library that it is tested with. Needs Debian's php-cli, php-predis, php-symfony-lock,
# libredis-perl and ruby-redis; and node and npm (Debian's, or others), which fetches the rest once.
interop: check-built ## other libraries' locks
	$(Q)tests/run $(B) tests/bats/interop.bats $(INTEROP_ALL)

## Figures

bench: $(B)/redlock $(TOOLS) ## speed and cost, next to other programs
	$(Q)$(MAKE) --no-print-directory B=$(B)/without-tls WITH_TLS=no $(B)/without-tls/redlock
	$(Q)tests/bench/minimum $(B)
	$(Q)tests/bench/instructions $(B)
	$(Q)tests/bench/run $(B)
	$(Q)tests/bench/tls $(B)
	$(Q)tests/bench/waiting $(B)
	$(Q)tests/bench/together $(B)
	$(Q)tests/bench/status $(B)

# DELAY=MS is the one-way delay (20), ROUNDS=n the number of runs of each row (7). Needs root and TUN devices.
bench-network: $(B)/redlock $(TOOLS) ## runs over a network with delays; DELAY=20 ROUNDS=7
	$(Q)DELAY=$(DELAY) ROUNDS=$(ROUNDS) tests/bench/network $(B)

.PHONY: check-faults check-mutants model sim sim-soak fuzz torture losses extensions
.PHONY: check-valgrind cover check-musl check-arm64 check-servers interop bench bench-network
