build/report/rights.o: src/report/rights.c src/report/rights.h \
 src/cli/settings.h src/cli/node.h src/base/err.h src/lock/policy.h \
 src/base/clock.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def src/report/finding.h \
 src/base/text.h src/base/utf8.h src/report/diagnosis.h \
 src/report/server_info.h src/report/problem.h
src/report/rights.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/report/finding.h:
src/base/text.h:
src/base/utf8.h:
src/report/diagnosis.h:
src/report/server_info.h:
src/report/problem.h:
