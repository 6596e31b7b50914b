/* SPDX-License-Identifier: MIT */
#include "cluster/transport/ofi_fabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cluster/secret.h"

#define LIBRARY "libfabric.so.1"
#define VERSION FI_VERSION(1, 9)
#define COMPLETIONS 4096

static struct {
	void *library;
	__typeof__(&fi_getinfo) getinfo;
	__typeof__(&fi_freeinfo) freeinfo;
	__typeof__(&fi_dupinfo) dupinfo;
	__typeof__(&fi_fabric) fabric;
	__typeof__(&fi_strerror) strerror;
} ofi;

/* In the order of preference. shm and sockets burn a core or lose time, so they are not here. */
static const struct provider {
	const char *name;
	bool is_ip; /* listens on an address of the host */
} providers[] = {
	{ "cxi", false }, { "verbs;ofi_rxm", false }, { "psm2", false },
	{ "opx", false }, { "efa", false },           { "tcp;ofi_rxm", true },
};

static int open_library(struct err *e)
{
	const struct {
		const char *name;
		void **to;
	} functions[] = {
		{ "fi_getinfo", (void **)&ofi.getinfo },
		{ "fi_freeinfo", (void **)&ofi.freeinfo },
		{ "fi_dupinfo", (void **)&ofi.dupinfo },
		{ "fi_fabric", (void **)&ofi.fabric },
		{ "fi_strerror", (void **)&ofi.strerror },
	};
	void *library;

	if (ofi.library)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(e, -ENOTSUP, "no libfabric here: %s", dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		*functions[i].to = dlsym(library, functions[i].name);
		if (!*functions[i].to) {
			err_set(e, -ENOTSUP, "libfabric lacks %s", functions[i].name);
			dlclose(library);
			return e->code;
		}
	}
	ofi.library = library;
	return 0;
}

const char *ofi_words(ssize_t code)
{
	return ofi.strerror((int)-code);
}

static void set_hints(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA | FI_READ | FI_REMOTE_READ | FI_SEND | FI_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->threading = FI_THREAD_SAFE; /* of fi_cq_signal() */
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
}

static int find_provider(const struct provider *p, const char *host, struct fi_info **ret)
{
	struct fi_info *hints = ofi.dupinfo(NULL);
	uint64_t flags = p->is_ip ? FI_SOURCE | FI_NUMERICHOST : 0;
	int rc;

	if (!hints)
		return -FI_ENOMEM;
	set_hints(hints);
	hints->fabric_attr->prov_name = strdup(p->name); /* freed with hints */
	rc = hints->fabric_attr->prov_name
		     ? ofi.getinfo(VERSION, p->is_ip ? host : NULL, NULL, flags, hints, ret)
		     : -FI_ENOMEM;
	ofi.freeinfo(hints);
	return rc;
}

/* The numeric address to listen on, without brackets and scope. */
static int choose_host(const char *listen, char ret[ENDPOINT_MAX], struct err *e)
{
	struct endpoint at;
	size_t len;

	if (endpoint_choose(listen, &at, e) < 0)
		return e->code;
	endpoint_print_host(&at, ret);
	len = strlen(ret);
	if (*ret == '[' && len > 2) {
		memmove(ret, ret + 1, len - 2);
		ret[len - 2] = '\0';
	}
	return 0;
}

/* The completion queue can be waited for, and waked. */
static ssize_t open_completions(struct ofi_fabric *f)
{
	struct fi_cq_attr attr = { .size = COMPLETIONS,
				   .format = FI_CQ_FORMAT_MSG,
				   .wait_obj = FI_WAIT_UNSPEC };
	int rc = fi_cq_open(f->domain, &attr, &f->completions, NULL);

	return rc ? rc : fi_cq_signal(f->completions);
}

static ssize_t open_endpoint(struct ofi_fabric *f)
{
	struct fi_av_attr addresses = { .type = FI_AV_TABLE, .count = 64 };
	ssize_t rc = ofi.fabric(f->info->fabric_attr, &f->fabric, NULL);

	f->own.len = sizeof(f->own.bytes);
	if (!rc)
		rc = fi_domain(f->fabric, f->info, &f->domain, NULL);
	if (!rc)
		rc = fi_av_open(f->domain, &addresses, &f->addresses, NULL);
	if (!rc)
		rc = open_completions(f);
	if (!rc)
		rc = fi_endpoint(f->domain, f->info, &f->endpoint, NULL);
	if (!rc)
		rc = fi_ep_bind(f->endpoint, &f->addresses->fid, 0);
	if (!rc)
		rc = fi_ep_bind(f->endpoint, &f->completions->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(f->endpoint);
	return rc ? rc : fi_getname(&f->endpoint->fid, f->own.bytes, &f->own.len);
}

int ofi_fabric_open(struct ofi_fabric *f, const char *listen, bool needs_card, struct err *e)
{
	char host[ENDPOINT_MAX];

	if (open_library(e) < 0 || choose_host(listen, host, e) < 0)
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
		const char *name = providers[i].name;
		ssize_t rc;

		*f = (struct ofi_fabric){ 0 };
		if ((needs_card && providers[i].is_ip) ||
		    find_provider(providers + i, host, &f->info))
			continue;
		rc = open_endpoint(f);
		if (!rc) {
			memcpy(f->own.provider, name, strlen(name) + 1);
			return 0;
		}
		log_msg(LOG_INFO, "cluster", "libfabric's %s does not work here: %s", name,
			ofi_words(rc));
		ofi_fabric_close(f);
	}
	return err_set(e, -ENOTSUP, "libfabric has no provider for the network at %s", host);
}

void ofi_fabric_close(struct ofi_fabric *f)
{
	if (f->endpoint)
		fi_close(&f->endpoint->fid);
	if (f->completions)
		fi_close(&f->completions->fid);
	if (f->addresses)
		fi_close(&f->addresses->fid);
	if (f->domain)
		fi_close(&f->domain->fid);
	if (f->fabric)
		fi_close(&f->fabric->fid);
	if (f->info)
		ofi.freeinfo(f->info);
	*f = (struct ofi_fabric){ 0 };
}

/* --- memory --- */

static int register_memory(struct ofi_fabric *f, struct ofi_memory *m, uint64_t access)
{
	int mode = f->info->domain_attr->mr_mode;
	size_t key_size = f->info->domain_attr->mr_key_size;
	uint64_t key = 0;
	int rc = secret_random(&key, key_size && key_size < 8 ? key_size : 8);

	if (rc < 0)
		return rc;
	rc = fi_mr_reg(f->domain, m->bytes, m->len, access, 0, key, 0, &m->region, NULL);
	if (!rc && (mode & FI_MR_ENDPOINT))
		rc = fi_mr_bind(m->region, &f->endpoint->fid, 0);
	if (!rc && (mode & FI_MR_ENDPOINT))
		rc = fi_mr_enable(m->region);
	if (rc)
		return rc;
	m->desc = fi_mr_desc(m->region);
	m->key = fi_mr_key(m->region);
	m->address = mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)m->bytes : 0;
	return 0;
}

int ofi_memory_open(struct ofi_fabric *f, struct ofi_memory *m, size_t len, uint64_t access)
{
	bool is_needed = access & FI_REMOTE_READ || f->info->domain_attr->mr_mode & FI_MR_LOCAL;
	int rc = 0;

	*m = (struct ofi_memory){ .bytes = malloc(len), .len = len };
	if (!m->bytes)
		return -ENOMEM;
	if (is_needed)
		rc = register_memory(f, m, access);
	if (rc)
		ofi_memory_free(m);
	return rc;
}

void ofi_memory_revoke(struct ofi_memory *m)
{
	if (m->region)
		fi_close(&m->region->fid);
	m->region = NULL;
}

void ofi_memory_free(struct ofi_memory *m)
{
	ofi_memory_revoke(m);
	free(m->bytes);
	*m = (struct ofi_memory){ 0 };
}
