build/tools/witness: tests/tools/witness.c
