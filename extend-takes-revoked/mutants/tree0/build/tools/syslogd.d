build/tools/syslogd: tests/tools/syslogd.c
