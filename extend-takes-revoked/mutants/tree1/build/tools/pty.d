build/tools/pty: tests/tools/pty.c
