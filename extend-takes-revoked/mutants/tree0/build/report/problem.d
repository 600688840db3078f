build/report/problem.o: src/report/problem.c src/report/problem.h \
 src/lock/reply.h src/base/clock.h src/report/finding.h src/lock/policy.h \
 src/report/server_info.h src/base/utf8.h src/proto/request.h
src/report/problem.h:
src/lock/reply.h:
src/base/clock.h:
src/report/finding.h:
src/lock/policy.h:
src/report/server_info.h:
src/base/utf8.h:
src/proto/request.h:
