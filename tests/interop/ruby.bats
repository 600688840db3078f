# redlock alongside a hand-written lock with Ruby's redis. Debian: apt install ruby-redis

load clients

setup() {
	nodes_start 3
	start_client /usr/bin/ruby "$BATS_TEST_DIRNAME/redis.rb"
}
teardown() { nodes_stop; }

@test "Ruby: each excludes the other, and is next" {
	exclude_each_other job uuid '; such a value is written by *redlock-rb*'
}

@test "Ruby: neither ends the other's lock" {
	leave_each_other job lost
}

@test "old style: Ruby reads no value of redlock's as a time in the past" {
	old_style_clients_wait /usr/bin/ruby "$BATS_TEST_DIRNAME/past.rb"
}
