/* SPDX-License-Identifier: MIT */
/*
 * transport: moves messages between ranks, and lets only nodes of the job take part.
 *
 * One thread calls everything of a transport but transport_wake(). A message is sent to a rank; the
 * transport connects when it must, proves the job's secret, signs each message, and queues within
 * bounds. It never blocks except in run. Failures come as events of run, and nothing is sent twice.
 */
#ifndef CLUSTER_TRANSPORT_TRANSPORT_H
#define CLUSTER_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "cluster/secret.h"
#include "cluster/transport/endpoint.h"
#include "cluster/wire.h"

/* Events of run, for struct protocol: see cluster/protocol.h. */
struct transport_events {
	void (*receive)(void *self, uint32_t rank, uint64_t epoch, const struct wire_message *m);
	void (*heard)(void *self, uint32_t rank);
	void (*sent)(void *self, uint32_t rank); /* for each message with data, also a lost one */
	void (*failed)(void *self, uint32_t rank);
};

struct transport_config {
	uint32_t rank, size;
	uint64_t epoch;
	const struct secret *secret; /* borrowed until close */
	const char *listen;          /* an address or interface; NULL: the host's own */
	bool needs_card; /* libfabric: -ENOTSUP where its provider is the kernel's TCP */
	const struct transport_events *events;
	void *self; /* of the events */
};

struct transport_counts {
	uint64_t sent_bytes, received_bytes; /* on the wire, of the job's nodes */
	uint64_t losses;                     /* of complete sessions */
	uint64_t refused;                    /* connections without the secret, or with garbage */
	uint64_t replayed;                   /* messages that were received before */
	uint32_t connected;                  /* sessions now */
};

struct transport {
	const char *name;

	/* Listens. *ret_endpoint is what other ranks need. -ENOTSUP: it cannot work here. */
	int (*open)(const struct transport_config *config, void **ret,
		    char ret_endpoint[ENDPOINT_MAX], struct err *e);
	void (*close)(void *self); /* makes events sent for what was queued */

	/* Where rank listens; a new one after its restart. Copied. */
	int (*set_endpoint)(void *self, uint32_t rank, const char *endpoint, struct err *e);

	/* Copies the message. What cannot be sent is a later event. */
	void (*send)(void *self, uint32_t rank, const struct wire_message *m);

	/* Waits for events until until_ns of CLOCK_MONOTONIC or wake, and makes them. */
	void (*run)(void *self, int64_t until_ns);

	/* Ends run, now or the next one. Any thread. */
	void (*wake)(void *self);

	/* Sends what is queued until until_ns, before close. */
	void (*flush)(void *self, int64_t until_ns);

	void (*counts)(void *self, struct transport_counts *ret);
};

extern const struct transport transport_tcp;
extern const struct transport transport_ofi; /* libfabric; in builds with it */

/* "auto", which is the first one to try, or a name. NULL: there is none, with the reason. */
const struct transport *transport_find(const char *name, struct err *e);

/* Opens it. "auto" is libfabric where that drives a network card without the kernel, else TCP. */
int transport_open(const char *name, const struct transport_config *config,
		   const struct transport **ret, void **ret_self, char ret_endpoint[ENDPOINT_MAX],
		   struct err *e) MUST_CHECK;

/* Why "auto" takes what it takes: a clause. */
const char *transport_reason(void);

#endif
