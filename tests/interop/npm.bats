# redlock alongside locks from npm: node-redlock, old and new, and redis-semaphore (its keys have a prefix).

load clients

setup_file() {
	. "$BATS_TEST_DIRNAME/../bench/node-packages.bash"
	install_node_packages "$REDLOCK_BUILD" "$BATS_FILE_TMPDIR/npm.log" || {
		cat "$BATS_FILE_TMPDIR/npm.log"
		echo "npm could not install what is in tests/bench/package.json; 'make check-all INTEROP=' goes without"
		return 1
	}
}
setup() { nodes_start 3; }
teardown() { nodes_stop; }

# "node" is a function here
begin_on_one() {
	N=1 REDLOCK_NODES=unix://$T/1.sock
	begin "$1"
}
begin() { start_client env node "$BATS_TEST_DIRNAME/node.js" "$1"; }

@test "node-redlock 5: each excludes the other, and is next" {
	begin redlock-5
	exclude_each_other job hex32 '; such a value is written by node-redlock, redis-py and others'
}

@test "node-redlock 5: neither ends the other's lock" {
	begin redlock-5
	leave_each_other job lost
}

@test "node-redlock 4: each excludes the other, and is next" {
	begin redlock-4
	exclude_each_other job hex32 '; such a value is written by node-redlock, redis-py and others'
}

@test "node-redlock 4: neither ends the other's lock" {
	begin redlock-4
	leave_each_other job lost
}

@test "redis-semaphore: each excludes the other, and is next" {
	export REDLOCK_KEY_FORMAT=mutex:%s
	begin redis-semaphore
	exclude_each_other mutex:job uuid '; such a value is written by *redis-semaphore and others'
}

@test "redis-semaphore: neither ends the other's lock" {
	export REDLOCK_KEY_FORMAT=mutex:%s
	begin redis-semaphore
	leave_each_other mutex:job released
}

@test "@sesamecare-oss/redlock: each excludes the other, and is next" {
	begin sesamecare
	exclude_each_other job hex32 '; such a value is written by node-redlock, redis-py and others'
}

@test "@sesamecare-oss/redlock: neither ends the other's lock" {
	begin sesamecare
	leave_each_other job lost
}

@test "redlock-universal: each excludes the other, and is next" {
	begin redlock-universal
	exclude_each_other job hex32 '; such a value is written by *'
}

@test "redlock-universal: neither ends the other's lock" {
	begin redlock-universal
	leave_each_other job lost
}

@test "ioredis-lock: each excludes the other, and is next" {
	begin_on_one ioredis-lock
	exclude_each_other job uuid '; such a value is written by *'
}

@test "ioredis-lock: neither ends the other's lock" {
	begin_on_one ioredis-lock
	leave_each_other job lost
}

@test "node-redis-warlock: each excludes the other, and is next" {
	export REDLOCK_KEY_FORMAT=%s:lock
	begin_on_one warlock
	exclude_each_other job:lock other
}

@test "node-redis-warlock: neither ends the other's lock" {
	export REDLOCK_KEY_FORMAT=%s:lock
	begin_on_one warlock
	leave_each_other job:lock lost
}

@test "redis-lock: each excludes the other, and is next" {
	export REDLOCK_KEY_FORMAT=lock.%s
	begin_on_one redis-lock
	exclude_each_other lock.job other
}

# as in docs/interop.md
@test "redis-lock: after break, its late release ends the next lock" {
	export REDLOCK_KEY_FORMAT=lock.%s
	begin_on_one redis-lock
	it_takes lock.job
	redlock break -q -f -y -k job
	we_take
	client released release
	held_on lock.job 0
}

@test "old style: JavaScript reads no value of redlock's as a time in the past" {
	old_style_clients_wait env node "$BATS_TEST_DIRNAME/past.js"
}
