build/lock/policy.o: src/lock/policy.c src/lock/policy.h src/base/clock.h
src/lock/policy.h:
src/base/clock.h:
