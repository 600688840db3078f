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

# own_apt FOLDER TYPE MIRROR RELEASE: from now on, apt-get and apt-cache use that source (deb or deb-src), and lists in
# FOLDER; the system's lists and sources stay as they are, and its proxy counts.
own_apt() {
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	: > "$1/status"
	echo "$2 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $3 $4 main" > "$1/sources.list"
	cat > "$1/apt.conf" <<-END
		Dir::Etc::SourceList "$1/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::State::Lists "$1/lists";
		Dir::State::status "$1/status";
		Dir::Cache "$1/cache";
		APT::Sandbox::User "";
		APT::Update::Error-Mode "any";
		APT::Update::Post-Invoke-Success { "true"; };
		Acquire::Languages "none";
		Acquire::Retries "2";
		Acquire::http::Timeout "20";
	END
	export APT_CONFIG=$1/apt.conf
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
