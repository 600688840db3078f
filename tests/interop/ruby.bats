# redlock beside a lock of one's own by Ruby's redis. Debian: apt install ruby-redis

load clients

setup() {
	nodes_start 3
	start_client /usr/bin/ruby "$BATS_TEST_DIRNAME/redis.rb"
}
teardown() { nodes_stop; }

@test "Ruby: either keeps the other out, and is next" {
	exclude_each_other job uuid '; such a value is written by *redlock-rb*'
}

@test "Ruby: neither ends the other's lock" {
	leave_each_other job lost
}

@test "old style: Ruby reads no value of ours as a time that is past" {
	old_style_clients_wait /usr/bin/ruby "$BATS_TEST_DIRNAME/past.rb"
}
