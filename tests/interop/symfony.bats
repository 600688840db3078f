# redlock alongside the locks of PHP's Symfony. Debian: apt install php-cli php-predis php-symfony-lock

load clients

setup() {
	nodes_start 3
	start_client php "$BATS_TEST_DIRNAME/symfony.php"
}
teardown() { nodes_stop; }

@test "Symfony: each excludes the other, and is next" {
	exclude_each_other job structure '; no lock of ours: another data type, as Redisson (hash) and Symfony (zset) keep'
}

@test "Symfony: neither ends the other's lock" {
	leave_each_other job released
}

@test "Symfony: break frees its lock, and tells the holder's name" {
	it_takes job
	says 0 "*1.sock: removed?*2.sock: removed?*3.sock: removed" "redlock: 'job' is held by another program (value '(zset) *') on 3 of 3 nodes, *" break -fy -k job
	held_on job 0
	client lost extend 7200000
}
