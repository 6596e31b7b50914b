/* SPDX-License-Identifier: MIT */
/*
 * PMIx, as srun --mpi=pmix and Open MPI's mpirun offer it. libpmix is opened where a launcher set
 * its variables, and finalized right after the exchange: launchers end the whole job when a process
 * that has not finalized dies. Source: PMIx standard 4.1.
 */
#include <pmix.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/number.h"
#include "cluster/bootstrap/way.h"

#define LIBRARY "libpmix.so.2"
#define SECRET_KEY "auger-secret"
#define ENDPOINT_KEY "auger-endpoint"

static struct {
	void *library;
	__typeof__(&PMIx_Init) init;
	__typeof__(&PMIx_Finalize) finalize;
	__typeof__(&PMIx_Put) put;
	__typeof__(&PMIx_Commit) commit;
	__typeof__(&PMIx_Fence_nb) fence_nb;
	__typeof__(&PMIx_Get) get;
	__typeof__(&PMIx_Error_string) error_string;
} pmix;

struct member {
	pmix_proc_t proc;
	bool is_open; /* to be finalized */
};

/* A fence that another thread completes, maybe after this one has given up. */
struct fence {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_done, is_abandoned; /* under lock, as status */
	pmix_status_t status;
};

static bool pmix_is_offered(const struct bootstrap_config *config)
{
	static const char *const servers[] = { "PMIX_SERVER_URI2", "PMIX_SERVER_URI21",
					       "PMIX_SERVER_URI3", "PMIX_SERVER_URI4",
					       "PMIX_SERVER_URI41" };

	(void)config;
	if (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		if (getenv(servers[i]))
			return true;
	return false;
}

static int open_library(struct err *e)
{
	const struct {
		const char *name;
		void **to;
	} functions[] = {
		{ "PMIx_Init", (void **)&pmix.init },
		{ "PMIx_Finalize", (void **)&pmix.finalize },
		{ "PMIx_Put", (void **)&pmix.put },
		{ "PMIx_Commit", (void **)&pmix.commit },
		{ "PMIx_Fence_nb", (void **)&pmix.fence_nb },
		{ "PMIx_Get", (void **)&pmix.get },
		{ "PMIx_Error_string", (void **)&pmix.error_string },
	};
	void *library;

	if (pmix.library)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(e, -ENOTSUP, "the launcher offers PMIx, but there is no libpmix: %s",
			       dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		*functions[i].to = dlsym(library, functions[i].name);
		if (!*functions[i].to) {
			err_set(e, -ENOTSUP, "libpmix lacks %s", functions[i].name);
			dlclose(library);
			return e->code;
		}
	}
	pmix.library = library;
	return 0;
}

static int fail(const char *what, pmix_status_t status, struct err *e)
{
	return err_set(e, -EPROTO, "PMIx: %s: %s", what, pmix.error_string(status));
}

static void free_value(pmix_value_t *v)
{
	if (v->type == PMIX_STRING)
		free(v->data.string);
	free(v);
}

static int get_number(pmix_rank_t rank, const struct member *m, const char *key, uint32_t *ret,
		      struct err *e)
{
	pmix_proc_t of = m->proc;
	pmix_value_t *value = NULL;
	pmix_status_t status;

	of.rank = rank;
	status = pmix.get(&of, key, NULL, 0, &value);
	if (status != PMIX_SUCCESS || !value)
		return fail(key, status, e);
	*ret = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
	free_value(value);
	return 0;
}

static int get_text(const struct member *m, uint32_t rank, const char *key,
		    char ret[BOOTSTRAP_TEXT], struct err *e)
{
	pmix_proc_t of = m->proc;
	pmix_value_t *value = NULL;
	pmix_status_t status;
	bool ok;

	of.rank = rank;
	status = pmix.get(&of, key, NULL, 0, &value);
	if (status != PMIX_SUCCESS || !value)
		return fail(key, status, e);
	ok = value->type == PMIX_STRING && value->data.string &&
	     strlen(value->data.string) < BOOTSTRAP_TEXT;
	if (ok)
		snprintf(ret, BOOTSTRAP_TEXT, "%s", value->data.string);
	free_value(value);
	return ok ? 0 : err_set(e, -EPROTO, "PMIx: %s of rank %u is no text", key, rank);
}

static int put_text(const char *key, char *text, struct err *e)
{
	pmix_value_t value = { .type = PMIX_STRING, .data.string = text };
	pmix_status_t status = pmix.put(PMIX_GLOBAL, key, &value);

	return status == PMIX_SUCCESS ? 0 : fail(key, status, e);
}

static void fence_done(pmix_status_t status, void *data)
{
	struct fence *f = data;
	bool is_abandoned;

	pthread_mutex_lock(&f->lock);
	f->is_done = true;
	f->status = status;
	is_abandoned = f->is_abandoned;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	if (is_abandoned)
		free(f);
}

/* Until the deadline. false: it is not done, and belongs to fence_done(). */
static bool wait_for_fence(struct fence *f, int64_t join_ns)
{
	int64_t end = clock_mono_ns() + join_ns;
	struct timespec until = { .tv_sec = end / NS_PER_S, .tv_nsec = end % NS_PER_S };
	bool is_done;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	while (!f->is_done && rc == 0)
		rc = pthread_cond_timedwait(&f->changed, &f->lock, &until);
	is_done = f->is_done;
	f->is_abandoned = !is_done;
	pthread_mutex_unlock(&f->lock);
	return is_done;
}

/* All ranks have what each put. */
static int meet(int64_t join_ns, struct err *e)
{
	pmix_info_t collect = { .value = { .type = PMIX_BOOL, .data.flag = true } };
	struct fence *f = calloc(1, sizeof(*f));
	pmix_status_t status;

	if (!f)
		return err_nomem(e);
	pthread_mutex_init(&f->lock, NULL);
	compat_cond_init(&f->changed);
	snprintf(collect.key, sizeof(collect.key), "%s", PMIX_COLLECT_DATA);
	status = pmix.commit();
	if (status == PMIX_SUCCESS)
		status = pmix.fence_nb(NULL, 0, &collect, 1, fence_done, f);
	if (status == PMIX_SUCCESS) {
		if (!wait_for_fence(f, join_ns))
			return err_set(e, -ETIMEDOUT, "PMIx: not all ranks came in %.0f s",
				       (double)join_ns / 1e9);
		status = f->status;
	} else if (status == PMIX_OPERATION_SUCCEEDED) {
		status = PMIX_SUCCESS;
	}
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return status == PMIX_SUCCESS ? 0 : fail("fence", status, e);
}

static int pmix_open(const struct bootstrap_config *config, struct bootstrap *b, struct err *e)
{
	struct member *m = calloc(1, sizeof(*m));
	pmix_status_t status;

	(void)config;
	if (!m)
		return err_nomem(e);
	b->data = m;
	if (open_library(e) < 0)
		return e->code;
	status = pmix.init(&m->proc, NULL, 0);
	if (status != PMIX_SUCCESS)
		return fail("init", status, e);
	m->is_open = true;
	b->rank = m->proc.rank;
	return get_number(PMIX_RANK_WILDCARD, m, PMIX_JOB_SIZE, &b->size, e);
}

static bool read_secret(const char *text, struct secret *ret)
{
	if (strlen(text) != 2 * (size_t)SECRET_BYTES)
		return false;
	for (size_t i = 0; i < SECRET_BYTES; i++) {
		int high = number_hex_digit(text[2 * i]), low = number_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret->bytes[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static int pmix_share(struct bootstrap *b, struct secret *ret, struct err *e)
{
	char text[BOOTSTRAP_TEXT];
	int rc = 0;

	if (b->rank == 0) {
		if (secret_make(ret, e) < 0)
			return e->code;
		number_print_hex(text, ret->bytes, sizeof(ret->bytes));
		rc = put_text(SECRET_KEY, text, e);
	}
	if (rc == 0)
		rc = meet(b->join_ns, e);
	if (rc == 0 && b->rank != 0)
		rc = get_text(b->data, 0, SECRET_KEY, text, e);
	if (rc == 0 && b->rank != 0 && !read_secret(text, ret))
		rc = err_set(e, -EPROTO, "PMIx: the secret of rank 0 is malformed");
	explicit_bzero(text, sizeof(text));
	return rc;
}

static void finalize(struct member *m)
{
	if (m->is_open)
		pmix.finalize(NULL, 0);
	m->is_open = false;
}

static int pmix_exchange(struct bootstrap *b, const char *own, const bool *wants,
			 bootstrap_set *set, void *self, struct err *e)
{
	char text[BOOTSTRAP_TEXT];

	snprintf(text, sizeof(text), "%s", own);
	if (put_text(ENDPOINT_KEY, text, e) < 0 || meet(b->join_ns, e) < 0)
		return e->code;
	for (uint32_t i = 0; i < b->size; i++)
		if (wants[i] &&
		    (get_text(b->data, i, ENDPOINT_KEY, text, e) < 0 || set(self, i, text, e) < 0))
			return e->code;
	finalize(b->data);
	return 0;
}

static void pmix_close(struct bootstrap *b)
{
	struct member *m = b->data;

	if (m)
		finalize(m);
	free(m);
}

const struct bootstrap_way bootstrap_pmix = {
	.name = "PMIx",
	.is_offered = pmix_is_offered,
	.open = pmix_open,
	.exchange = pmix_exchange,
	.share = pmix_share,
	.close = pmix_close,
};
