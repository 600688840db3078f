# Shared by the scripts of this folder: messages, packages, and the run of the suite.
# A script sets `name` and sources this file from the root of the tree.

# refuse REASON: ends the script with status 2.
refuse() {
	echo "$name: $1" >&2
	exit 2
}

# wants PROGRAM PACKAGE: remembers PACKAGE if PROGRAM is not in PATH.
missing=()
wants() { type -P "$1" > /dev/null || missing+=("$2"); }

# wants_library PACKAGE: remembers PACKAGE if dpkg does not list it as installed.
wants_library() { dpkg -s "$1" 2> /dev/null | grep -q '^Status: .* installed$' || missing+=("$1"); }

# refuse_if_missing: names every package that an earlier call missed.
refuse_if_missing() {
	[ ${#missing[@]} -eq 0 ] || refuse "packages are missing: apt-get install ${missing[*]}"
}

# say_left_out TAG: prints the names of the tests in tests/bats that have TAG.
say_left_out() {
	awk -v tag="$1" '
		/^# bats (test|file)_tags=/ { tagged = index("," substr($0, index($0, "=") + 1) ",", "," tag ",") > 0 }
		/^# bats file_tags=/ && tagged { whole = FILENAME; tagged = 0 }
		/^@test/ {
			if (tagged || whole == FILENAME) { sub(/^@test "/, ""); sub(/" \{$/, ""); print "left out: " FILENAME ": " $0 }
			tagged = 0
		}' "${@:2}"
}
