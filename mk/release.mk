# Pictures, pages and releases.

## Pages

# From the output of real commands.
pictures: $(B)/redlock ## the pictures of README.md
	$(Q)scripts/pictures $(B)/redlock docs/pictures

# The manual pages as HTML, with the pictures, in build/html, without the pages that include others. References to other pages lead to Debian's.
HTML_STYLE = body { max-width: 52em; margin: 1em auto; padding: 0 1em; font-family: sans-serif } img { max-width: 100% }
html: ## the manual pages as HTML, in build/html
	$(Q)rm -rf $(B)/html && mkdir -p $(B)/html && cp docs/pictures/*.svg $(B)/html
	$(Q)set -e; cd man; for page in $$(grep -L '^\.so' *.[1-9]); do \
		mandoc -T html -O 'toc,man=%N.%S.html;https://manpages.debian.org/%N.%S' $$page > $(abspath $(B))/html/$$page.html; \
	done
	$(Q)sed -i -e 's|</head>|<style>$(HTML_STYLE)</style></head>|' \
		-e '/^<h2.* id="redlock_run"/,/<.h2>/s|</h2>|&<img src="terminal.svg" alt="run, wait, status">|' \
		-e '/^<h2.* id="Terminating/,/<.h2>/s|</h2>|&<img src="timeline.svg" alt="time line of a lock">|' $(B)/html/*.html
	@echo $(B)/html/redlock.1.html

## Releases

# The source archive: build/redlock-VERSION.tar.gz. Every clone of a commit gives the same bytes.
dist: ## the source archive
	$(Q)packaging/dist $(B)

# A Debian package for this host's architecture.
deb: ## a Debian package, in build/release
	$(Q)packaging/release --deb $(B)/release

# All files of a release, in build/release: the source archive, a package and a static program for each of ARCH (by default
# this host's architecture), SHA256SUMS. docs/packaging.md names the required packages.
ARCH =
release: ## all files of a release, in build/release; ARCH='amd64 arm64'
	$(Q)packaging/release $(B)/release $(ARCH)

# Builds the release a second time from its own archive and compares the bytes; then lintian, the packages' contents,
# and the static programs without other files. Needs Debian's lintian and qemu-user as well.
check-release: ARCH = amd64 arm64
check-release: release check-built ## build the release twice and compare; lintian; contents
	$(Q)BATS_TEST_TIMEOUT=3600 RELEASE="$(abspath $(B)/release)" ARCH="$(ARCH)" tests/run $(B) tests/release/release.bats

# README's commands in fresh minimal systems of Debian 12 and 13 (DEBIAN=13: one), by debootstrap, as root: an hour.
# ONLY=Install: the package installed, upgraded and removed.
pristine: ## README's commands in fresh systems (root, an hour); DEBIAN=13
	$(Q)tests/pristine/run $(DEBIAN)

.PHONY: pictures html dist deb release check-release pristine
