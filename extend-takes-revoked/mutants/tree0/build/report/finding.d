build/report/finding.o: src/report/finding.c src/report/finding.h \
 src/lock/policy.h src/base/clock.h
src/report/finding.h:
src/lock/policy.h:
src/base/clock.h:
