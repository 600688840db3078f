build/tools/proxy: tests/tools/proxy.c
