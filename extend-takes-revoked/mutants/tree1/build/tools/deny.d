build/tools/deny: tests/tools/deny.c
