build/report/own_keys.o: src/report/own_keys.c src/report/own_keys.h \
 src/lock/reply.h src/base/clock.h src/report/finding.h src/lock/policy.h \
 src/base/utf8.h src/report/server_info.h
src/report/own_keys.h:
src/lock/reply.h:
src/base/clock.h:
src/report/finding.h:
src/lock/policy.h:
src/base/utf8.h:
src/report/server_info.h:
