# PHP reads redlock's values. Debian: apt install php-cli

load clients

setup() { nodes_start 1; }
teardown() { nodes_stop; }

@test "old style: PHP reads no value of redlock's as a time in the past" {
	old_style_clients_wait php "$BATS_TEST_DIRNAME/past.php"
}
