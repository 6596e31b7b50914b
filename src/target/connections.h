/* SPDX-License-Identifier: MIT */
/*
 * connections: the TCP connections of a process, by the inodes of their sockets.
 *
 * Source: proc(5), /proc/net/tcp; proc_net_tcp.txt of the kernel.
 */
#ifndef TARGET_CONNECTIONS_H
#define TARGET_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"

struct connection {
	uint64_t ino;   /* of its socket */
	char local[56]; /* "127.0.0.1:80", "[::1]:80" */
	char peer[56];
};

/* A line of /proc/net/tcp or tcp6. False: it is none of a connection: a head, a listening socket.
 */
bool connection_parse(struct connection *ret, const char *line);

/* The inode in "socket:[INODE]", a link of /proc/PID/fd; 0: it is no socket. */
uint64_t connection_inode(const char *link);

/* Those of one network namespace. All zero: none was read. */
struct connections {
	uint64_t ns;         /* inode of the namespace; 0: none was read */
	struct rows list;    /* struct connection */
	struct map by_inode; /* row of list */
};

void connections_fini(struct connections *n);

/* Reads those of the namespace of a process, unless they were read before. An ended process has
 * none. -ENOMEM. */
int connections_read(struct connections *n, pid_t pid, struct err *e) MUST_CHECK;

/* That of a socket; NULL: there is none. Borrowed until the next connections_read(). */
const struct connection *connections_get(const struct connections *n, uint64_t ino);

#endif
