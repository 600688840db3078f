build/tests/unit/unit.o: tests/unit/unit.c tests/unit/unit.h
tests/unit/unit.h:
