# redlock alongside another library's locks, on the same keys. tests/interop has the libraries that are not in Debian's
# Python.

load ../interop/clients

setup() {
	nodes_start 1
	[[ "$BATS_TEST_DESCRIPTION" != redis-py:* ]] || begin python.py redis-py
}
begin() { start_client /usr/bin/python3 "$BATS_TEST_DIRNAME/../interop/$1" "${@:2}"; }
teardown() { nodes_stop; }

@test "redis-py: each excludes the other, and is next" {
	exclude_each_other job hex32 '; such a value is written by node-redlock, redis-py and others'
}

@test "redis-py: neither ends the other's lock" {
	leave_each_other job lost
}

@test "redis-py: a lock on one of three nodes excludes no client" {
	start_node 2
	start_node 3
	eventually admitted 2
	eventually admitted 3
	client held take job 3600000
	says 0 '' '' run -n --node "unix://$T/1.sock" --node "unix://$T/2.sock" --node "unix://$T/3.sock" -k job -- true
	says 75 '' "redlock: 'job' is busy: *" run -n -k job -- true
}

@test "old style (SETNX and a time stamp): its clients do not take redlock's locks, nor redlock theirs" {
	begin setnx.py
	we_take
	client refused take job 3600000
	is_ours
	says 0 '' '' release -k job --token "$TOKEN"
	redlock run --min-hold 1h -k job -- true
	client refused take job 3600000
	redlock break -q -f -y -k job
	TOKEN=$(redlock acquire -s --ttl 1h -k job)
	client refused take job 3600000
	is_ours
	says 0 '' '' release -k job --token "$TOKEN"
	client held take job 3600000
	says 75 '' "redlock: 'job' is busy: held by another program *" run -n -k job -- true
	says 0 '*; a lock of the old style (SETNX and a time stamp): it expires at *' '' status job
	# its holder crashed: no redlock can take it
	node 1 getset job "$(($(date +%s) - 60))" > "$T/value"
	says 75 '' '*' run -n -k job -- true
	says 0 "*: removed" '*: it expired at *' break -fy -k job
	says 0 '' '' run -n -k job -- true
}

@test "old style: C reads no value of redlock's as a time in the past" {
	old_style_clients_wait "$REDLOCK_BUILD/tools/past"
}

@test "old style: Python reads no value of redlock's as a time in the past" {
	old_style_clients_wait /usr/bin/python3 "$BATS_TEST_DIRNAME/../interop/past.py"
}
