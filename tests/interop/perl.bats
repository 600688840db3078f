# redlock alongside a hand-written lock with Perl's Redis.pm: any 20 bytes are its value. Debian: apt install
# libredis-perl

load clients

setup() {
	nodes_start 3
	start_client /usr/bin/perl "$BATS_TEST_DIRNAME/redis.pl"
}
teardown() { nodes_stop; }

@test "Perl: each excludes the other, and is next" {
	exclude_each_other job other
}

@test "Perl: neither ends the other's lock" {
	leave_each_other job lost
}

@test "old style: Perl reads no value of redlock's as a time in the past" {
	old_style_clients_wait /usr/bin/perl "$BATS_TEST_DIRNAME/past.pl"
}
