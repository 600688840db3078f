# redlock beside locks from npm: node-redlock, old and new, and redis-semaphore, whose keys have a prefix.

load clients

setup_file() {
	. "$BATS_TEST_DIRNAME/../bench/node-packages.bash"
	install_node_packages "$REDLOCK_BUILD" "$BATS_FILE_TMPDIR/npm.log" || {
		cat "$BATS_FILE_TMPDIR/npm.log"
		echo "npm could not install what is in tests/bench/package.json; 'make check INTEROP=' goes without"
		return 1
	}
}
setup() { nodes_start 3; }
teardown() { nodes_stop; }

# "node" is a function here
begin() { start_client env node "$BATS_TEST_DIRNAME/node.js" "$1"; }

@test "node-redlock 5: either keeps the other out, and is next" {
	begin redlock-5
	exclude_each_other job hex32 '; such a value is written by node-redlock or redis-py'
}

@test "node-redlock 5: neither ends the other's lock" {
	begin redlock-5
	leave_each_other job lost
}

@test "node-redlock 4: either keeps the other out, and is next" {
	begin redlock-4
	exclude_each_other job hex32 '; such a value is written by node-redlock or redis-py'
}

@test "node-redlock 4: neither ends the other's lock" {
	begin redlock-4
	leave_each_other job lost
}

@test "redis-semaphore: either keeps the other out, and is next" {
	export REDLOCK_KEY_FORMAT=mutex:%s
	begin redis-semaphore
	exclude_each_other mutex:job uuid '; such a value is written by *redis-semaphore'
}

@test "redis-semaphore: neither ends the other's lock" {
	export REDLOCK_KEY_FORMAT=mutex:%s
	begin redis-semaphore
	leave_each_other mutex:job released
}

@test "old style: JavaScript reads no value of ours as a time that is past" {
	old_style_clients_wait env node "$BATS_TEST_DIRNAME/past.js"
}
