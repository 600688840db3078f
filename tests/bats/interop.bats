# redlock beside another library's locks, on the same keys. tests/interop has those that want more than Debian's Python.

load ../interop/clients

setup() {
	nodes_start 1
	start_client /usr/bin/python3 "$BATS_TEST_DIRNAME/../interop/redis-py.py"
}
teardown() { nodes_stop; }

@test "redis-py: either keeps the other out, and is next" {
	exclude_each_other job hex32 '; such a value is written by node-redlock or redis-py'
}

@test "redis-py: neither ends the other's lock" {
	leave_each_other job lost
}

@test "redis-py: one of three nodes excludes nobody" {
	start_node 2
	start_node 3
	eventually admitted 2
	eventually admitted 3
	client held take job 3600000
	says 0 '' '' run -n --node "unix://$T/1.sock" --node "unix://$T/2.sock" --node "unix://$T/3.sock" -k job -- true
	says 75 '' "redlock: 'job' is busy: *" run -n -k job -- true
}
