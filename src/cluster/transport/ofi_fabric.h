/* SPDX-License-Identifier: MIT */
/*
 * ofi_fabric: libfabric, opened when it is used, and one endpoint of it that moves datagrams
 * reliably and lets peers read registered memory. Source: fi_getinfo(3), fi_mr(3); libfabric 1.9.
 */
#ifndef CLUSTER_TRANSPORT_OFI_FABRIC_H
#define CLUSTER_TRANSPORT_OFI_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "cluster/transport/ofi_address.h"

/* All zero: closed. */
struct ofi_fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *addresses;
	struct fid_cq *completions; /* fi_cq_signal() works: any thread */
	struct fid_ep *endpoint;
	struct ofi_address own;
};

/* Memory that the network may use. All zero: none. */
struct ofi_memory {
	unsigned char *bytes; /* [len]; owned */
	size_t len;
	struct fid_mr *region; /* NULL: the provider needs none */
	void *desc;            /* for calls of libfabric; of region */
	uint64_t address, key; /* for peers */
};

/* listen: an address or interface; NULL: the host's own. needs_card: not over TCP. -ENOTSUP: no
 * libfabric, or no provider of it that works here, with the reason. */
int ofi_fabric_open(struct ofi_fabric *f, const char *listen, bool needs_card,
		    struct err *e) MUST_CHECK;
void ofi_fabric_close(struct ofi_fabric *f); /* before memory that it still uses is freed */

/* The words for a negative number of libfabric. */
const char *ofi_words(ssize_t code);

/* Allocates and registers. access: FI_REMOTE_READ lets peers read it by a random key; FI_SEND |
 * FI_RECV or FI_READ: own use. -errno. */
int ofi_memory_open(struct ofi_fabric *f, struct ofi_memory *m, size_t len,
		    uint64_t access) MUST_CHECK;

/* Revokes the key. The bytes stay until ofi_memory_free(). */
void ofi_memory_revoke(struct ofi_memory *m);
void ofi_memory_free(struct ofi_memory *m);

#endif
