/*
 * server_info: the fields of a server's INFO that doctor judges.
 *
 * Calling sequence: server_info_read() with the reply to INFO. Fields that the reply lacks are ""
 * or INFO_UNKNOWN, so a struct server_info is complete after any reply.
 *
 * Texts are copied and safe to show on a terminal. The functions cannot fail.
 */
#ifndef REPORT_SERVER_INFO_H
#define REPORT_SERVER_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFO_TEXT_MAX 64
#define INFO_UNKNOWN ((int64_t)-1)

struct server_info {
	const char *kind; /* "Redis", "Valkey", ...; "": the reply was no INFO */
	char version[INFO_TEXT_MAX];
	char mode[INFO_TEXT_MAX]; /* standalone, cluster, sentinel */
	char role[INFO_TEXT_MAX]; /* master, slave, active-replica */
	char run_id[INFO_TEXT_MAX];
	char group[INFO_TEXT_MAX]; /* replication id */
	char master_host[INFO_TEXT_MAX], master_port[INFO_TEXT_MAX]; /* of a replica */
	char policy[INFO_TEXT_MAX]; /* eviction policy */
	/* ok or err */
	char snapshot[INFO_TEXT_MAX], rewrite[INFO_TEXT_MAX], log_write[INFO_TEXT_MAX];
	int64_t replicas, cluster;
	int64_t memory, memory_max, memory_aside, evicted;
	int64_t clients, clients_max;
	int64_t log, late_fsyncs; /* of the append-only file */
};

/* A sentinel watches servers; it keeps no keys. */
bool server_info_is_sentinel(const struct server_info *info);

/* Reads the reply to INFO: any bytes. */
void server_info_read(struct server_info *info, const char *text, size_t len);

/* The decimal number at the start of the text, or a lower bound if it is very large; INFO_UNKNOWN
 * without a digit. */
int64_t server_info_number(const char *text, size_t len);

#endif
