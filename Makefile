# redlock. `make` builds, `make check` tests, `make help` lists the targets; HACKING.md explains the rest.
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
# Variables by size: the small ones share pages, which large ones would separate.
SORTED = -Wl,--sort-section=alignment
ifeq ($(shell $(CC) -Werror $(LDFLAGS) $(SORTED) -shared -o /dev/null -x c /dev/null 2> /dev/null && echo yes),yes)
REDLOCK_CFLAGS += -fdata-sections
REDLOCK_LDFLAGS += $(SORTED)
endif
Q = $(if $(V),,@)

LAYERS = base lock proto cli report file net proc cmd
SOURCES = $(foreach layer,$(LAYERS),$(sort $(wildcard src/$(layer)/*.c)))
OBJECTS = $(SOURCES:src/%.c=$(B)/%.o)

## Build

all: $(B)/redlock ## the program, build/redlock; DEVELOPER=1: warnings are errors

$(B)/redlock: $(B)/main.o $(OBJECTS)
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) $(TLS_LIBS)

# Writes the parts of pages that come from the tables.
GEN = $(sort $(wildcard src/gen/*.c))
GENERATED = $(wildcard man/*)
$(B)/redlock-gen: $(GEN:src/%.c=$(B)/%.o) $(filter $(B)/base/% $(B)/lock/% $(B)/proto/% $(B)/cli/%,$(OBJECTS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(REDLOCK_LDFLAGS) $(LDFLAGS) -o $@ $^

gen: $(B)/redlock-gen ## write the generated parts of the manual pages
	$(Q)$(B)/redlock-gen $(GENERATED)

gen-check: $(B)/redlock-gen ## name the generated parts that are out of date
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

clean: ## remove all builds
	rm -rf build

# The text of a target is behind its prerequisites and "##"; a line that begins with "##" is a heading.
help: ## this list
	$(Q)awk -F ':.*## ' '/^## / { printf "%s%s\n", n++ ? "\n" : "", substr($$0, 4) } \
		/^[a-z0-9-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile $(PARTS)

## A first look

demo: $(B)/redlock ## the demonstration of README.md
	$(Q)tests/demo $(B)/redlock

# A shell with three throwaway nodes. The exit status of the shell is no error of make; it is one if the nodes cannot be
# started, or if there is no terminal.
try: $(B)/redlock ## a shell with three throwaway nodes
	$(Q)$(B)/redlock sandbox -- true && { $(B)/redlock sandbox || [ -t 0 ]; }

## Installation

# The installed files: put FILE MODE WHERE, each. Pages and completions are optional.
define each_installed
	put $(B)/redlock 755 "$(BINDIR)/redlock"; \
	for page in man/*.[1-9]; do put "$$page" 644 "$(MANDIR)/man$${page##*.}/$${page##*/}"; done; \
	put completions/redlock.bash 644 "$(BASHCOMPDIR)/redlock"; \
	put completions/_redlock 644 "$(ZSHCOMPDIR)/_redlock"; \
	put completions/redlock.fish 644 "$(FISHCOMPDIR)/redlock.fish"; \
	for file in README.md CHANGELOG.md LICENSE; do put $$file 644 "$(DOCDIR)/$$file"; done
endef

install: $(B)/redlock ## below PREFIX (/usr/local); docs/packaging.md has the options
	$(Q)set -e; put() { \
		[ ! -e "$$1" ] || { echo "  INSTALL $(DESTDIR)$$3"; install -D -m $$2 "$$1" "$(DESTDIR)$$3"; }; \
	}; $(each_installed)
ifeq ($(STRIP),yes)
	$(Q)strip "$(DESTDIR)$(BINDIR)/redlock"
endif

uninstall: ## remove the installed files
	$(Q)put() { echo "  REMOVE  $(DESTDIR)$$3"; rm -f "$(DESTDIR)$$3"; }; $(each_installed)
	$(Q)rmdir "$(DESTDIR)$(DOCDIR)" 2> /dev/null || true

# The rest: the programs of the tests and the suite; long tests and other systems; pages and releases.
PARTS = mk/tests.mk mk/long.mk mk/release.mk
include $(PARTS)

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)

.PHONY: all gen gen-check clean help demo try install uninstall
