build/tools/hop: tests/tools/hop.c
