# Examples in documentation are run as they are printed, in a new folder, with stubs for the programs in them.

# stubs_start: starts three nodes, too. The folder is $T/work, programs are found in $T/bin.
stubs_start() {
	nodes_in_sandbox 3
	unset MAKEFLAGS MAKELEVEL
	mkdir -m 700 "$T/runtime"
	mkdir "$T/bin" "$T/work"
	ln -s "$REDLOCK_BUILD/redlock" "$T/bin/redlock"
	export XDG_RUNTIME_DIR=$T/runtime PATH=$T/bin:$PATH T N
	# the promise is a majority: the last of them may be late
	printf '%s\n' '#!/bin/bash' "$(declare -f holders node look_up in_state)" \
		'[ "$(holders "$1")" -ge 2 ] && echo held || echo free' > "$T/bin/state-of"
	chmod +x "$T/bin/state-of"
	# Long times: no node is late because the machine is busy.
	export REDLOCK_NODE_TIMEOUT=10s
	: > "$T/done"
	cd "$T/work"
}

# stub NAME KEY...: makes ./NAME, which writes to $T/done if these keys are held. It waits while $T/stop.NAME exists.
stub() {
	local name=$1
	shift
	cat > "$name" <<- END
		#!/bin/bash
		for key in $*; do held+=" \$(state-of \$key)"; done
		echo "$name\$held" >> "\$T/done"
		until [ ! -e "\$T/stop.$name" ]; do sleep 0.02; done
		echo "$name done" >> "\$T/done"
	END
	chmod +x "$name"
}

# was_done LINE...: these lines have been written by stubs, in that order, and no others.
was_done() {
	diff <(printf '%s\n' "$@") "$T/done"
}
