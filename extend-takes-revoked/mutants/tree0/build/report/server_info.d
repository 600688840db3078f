build/report/server_info.o: src/report/server_info.c \
 src/report/server_info.h src/base/utf8.h
src/report/server_info.h:
src/base/utf8.h:
