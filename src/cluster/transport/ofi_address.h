/* SPDX-License-Identifier: MIT */
/*
 * ofi_address: where a node of the libfabric transport can be reached, as text: the provider, with
 * '+' for ';', the bytes of fi_getname(3), and key and address of the word in its memory that
 * others read to know whether it lives ("ofi:tcp+ofi_rxm:0200a0f4...:5f01...:0000...").
 */
#ifndef CLUSTER_TRANSPORT_OFI_ADDRESS_H
#define CLUSTER_TRANSPORT_OFI_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "cluster/transport/endpoint.h"

#define OFI_PROVIDER_MAX 24 /* bytes, with the NUL */
#define OFI_ADDRESS_MAX 48  /* bytes */

struct ofi_address {
	char provider[OFI_PROVIDER_MAX];
	unsigned char bytes[OFI_ADDRESS_MAX]; /* [len] */
	size_t len;                           /* 0: none */
	uint64_t life_key, life_address;      /* of the word; fi_read(3) */
};

bool ofi_address_equals(const struct ofi_address *a, const struct ofi_address *b);

/* text comes from other nodes: -EINVAL when it is no address of libfabric. */
int ofi_address_parse(const char *text, struct ofi_address *ret, struct err *e) MUST_CHECK;
void ofi_address_print(const struct ofi_address *a, char ret[ENDPOINT_MAX]);

#endif
