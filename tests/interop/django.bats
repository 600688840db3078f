# redlock alongside Django's locks. Debian: apt install python3-django-redis

load clients

setup() {
	nodes_start 1
	export REDLOCK_KEY_FORMAT=:1:%s
	start_client /usr/bin/python3 "$BATS_TEST_DIRNAME/python.py" django-redis
}
teardown() { nodes_stop; }

@test "django-redis: each excludes the other, and is next" {
	exclude_each_other :1:job hex32 '; such a value is written by node-redlock, redis-py and others'
}

@test "django-redis: neither ends the other's lock" {
	leave_each_other :1:job lost
}
