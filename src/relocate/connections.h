/* SPDX-License-Identifier: MIT */
/*
 * connections: the TCP connections of a job. A frozen job does not answer its peers, so a user
 * compares their time-outs with the pause.
 *
 * Source: proc(5), /proc/net/tcp; proc_net_tcp.txt of the kernel.
 */
#ifndef RELOCATE_CONNECTIONS_H
#define RELOCATE_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"

struct connection {
	uint64_t ino;   /* of its socket */
	char local[56]; /* "127.0.0.1:80", "[::1]:80" */
	char peer[56];
};

/* A line of /proc/net/tcp or tcp6. False: it is none of a connection: a head, a listening socket.
 */
bool connection_parse(struct connection *ret, const char *line);

/* Adds a note to s for each connection of its processes, and counts them. -ENOMEM. */
int connections_find(struct reloc_inventory *s, size_t *ret_count, struct err *e) MUST_CHECK;

#endif
