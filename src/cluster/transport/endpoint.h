/* SPDX-License-Identifier: MIT */
/*
 * endpoint: where a node can be reached, as text ("tcp:10.0.0.7:40001", "tcp:[fe80::1%eth0]:7"),
 * and the address of this host on which it listens.
 */
#ifndef CLUSTER_TRANSPORT_ENDPOINT_H
#define CLUSTER_TRANSPORT_ENDPOINT_H

#include <sys/socket.h>

#include "base/err.h"
#include "base/macros.h"

#define ENDPOINT_MAX 160 /* bytes of the text, with its NUL */

struct endpoint {
	struct sockaddr_storage address;
	socklen_t len; /* 0: none */
};

/* text comes from other nodes: -EINVAL when it is no endpoint of TCP. */
int endpoint_parse(const char *text, struct endpoint *ret, struct err *e) MUST_CHECK;
void endpoint_print(const struct endpoint *at, char ret[ENDPOINT_MAX]);

/* The address alone, without port, for messages. */
void endpoint_print_host(const struct endpoint *at, char ret[ENDPOINT_MAX]);

/*
 * The address to listen on, port 0. listen: a numeric address, or the name of an interface; NULL:
 * the address of the host's name, else of the first interface that is up and not the loopback, else
 * the loopback.
 */
int endpoint_choose(const char *listen, struct endpoint *ret, struct err *e) MUST_CHECK;

#endif
