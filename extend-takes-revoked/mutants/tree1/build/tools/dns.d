build/tools/dns: tests/tools/dns.c
