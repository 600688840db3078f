/*
 * notify: messages to the service manager, as sd_notify(3) sends them: one datagram to the socket
 * that NOTIFY_SOCKET names.
 *
 * Call notify_send() in redlock's main process, with lines such as "READY=1". The function sends
 * nothing without NOTIFY_SOCKET, or if the service manager has started another process than this
 * one (SYSTEMD_EXEC_PID). It never waits and reports no errors: no outcome depends on a message.
 */
#ifndef PROC_NOTIFY_H
#define PROC_NOTIFY_H

void notify_send(const char *lines);

#endif
