build/cmd/doctor.o: src/cmd/doctor.c src/report/diagnosis.h \
 src/cli/settings.h src/cli/node.h src/base/err.h src/lock/policy.h \
 src/base/clock.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def src/report/finding.h \
 src/report/server_info.h src/report/own_keys.h src/report/problem.h \
 src/report/rights.h src/base/exit.h src/base/log.h src/base/text.h \
 src/cmd/commands.h src/cmd/configure.h src/cli/config.h src/lock/tally.h \
 src/cmd/confirm.h src/cmd/print.h src/base/json.h src/io/query.h \
 src/io/pool.h src/io/conn.h src/io/resolve.h src/proto/push.h \
 src/lock/event.h src/proto/reply.h src/lock/lock.h src/base/token.h \
 src/lock/peer.h src/lock/rivals.h src/lock/semaphore.h src/lock/waiter.h \
 src/io/tls.h src/proto/scripts.h src/report/report.h
src/report/diagnosis.h:
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
src/report/server_info.h:
src/report/own_keys.h:
src/report/problem.h:
src/report/rights.h:
src/base/exit.h:
src/base/log.h:
src/base/text.h:
src/cmd/commands.h:
src/cmd/configure.h:
src/cli/config.h:
src/lock/tally.h:
src/cmd/confirm.h:
src/cmd/print.h:
src/base/json.h:
src/io/query.h:
src/io/pool.h:
src/io/conn.h:
src/io/resolve.h:
src/proto/push.h:
src/lock/event.h:
src/proto/reply.h:
src/lock/lock.h:
src/base/token.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/io/tls.h:
src/proto/scripts.h:
src/report/report.h:
