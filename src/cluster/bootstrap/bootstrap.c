/* SPDX-License-Identifier: MIT */
#include "cluster/bootstrap/bootstrap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "cluster/bootstrap/way.h"

static bool alone_is_offered(const struct bootstrap_config *config)
{
	return config->size <= 1;
}

static int alone_open(const struct bootstrap_config *config, struct bootstrap *b, struct err *e)
{
	(void)config;
	(void)e;
	b->rank = 0;
	b->size = 1;
	return 0;
}

static int alone_exchange(struct bootstrap *b, const char *own, const bool *wants,
			  bootstrap_set *set, void *self, struct err *e)
{
	(void)b;
	(void)own;
	(void)wants;
	(void)set;
	(void)self;
	(void)e;
	return 0;
}

static int alone_share(struct bootstrap *b, struct secret *ret, struct err *e)
{
	(void)b;
	return secret_make(ret, e);
}

static void alone_close(struct bootstrap *b)
{
	(void)b;
}

static const struct bootstrap_way alone = {
	.name = "alone",
	.is_offered = alone_is_offered,
	.open = alone_open,
	.exchange = alone_exchange,
	.share = alone_share,
	.close = alone_close,
};

static const struct bootstrap_way *const ways[] = {
	&bootstrap_book,
#ifdef HAVE_PMIX
	&bootstrap_pmix,
#endif
	&bootstrap_pmi1,
	&alone,
};

static int check(const struct bootstrap *b, const struct bootstrap_config *config, struct err *e)
{
	if (b->size == 0 || b->rank >= b->size)
		return err_set(e, -EINVAL, "rank %u of %u nodes", b->rank, b->size);
	if (config->size && (config->size != b->size || config->rank != b->rank))
		return err_set(e, -EINVAL,
			       "this is rank %u of %u by %s, but rank %u of %u was requested",
			       b->rank, b->size, b->way->name, config->rank, config->size);
	return 0;
}

int bootstrap_open(const struct bootstrap_config *config, struct bootstrap **ret, struct err *e)
{
	struct bootstrap *b = calloc(1, sizeof(*b));

	if (!b)
		return err_nomem(e);
	b->join_ns = config->join_ns;
	for (size_t i = 0; i < ARRAY_LEN(ways) && !b->way; i++)
		if (ways[i]->is_offered(config))
			b->way = ways[i];
	if (!b->way) {
		free(b);
		return err_set(e, -EINVAL,
			       "%u nodes need an address book: no launcher passes addresses here",
			       config->size);
	}
	if (b->way->open(config, b, e) < 0 || check(b, config, e) < 0) {
		bootstrap_close(b);
		return e->code;
	}
	*ret = b;
	return 0;
}

void bootstrap_close(struct bootstrap *b)
{
	if (!b)
		return;
	b->way->close(b);
	free(b);
}

uint32_t bootstrap_rank(const struct bootstrap *b)
{
	return b->rank;
}

uint32_t bootstrap_size(const struct bootstrap *b)
{
	return b->size;
}

const char *bootstrap_name(const struct bootstrap *b)
{
	return b->way->name;
}

int bootstrap_share(struct bootstrap *b, struct secret *ret, struct err *e)
{
	if (!b->way->share)
		return err_set(e, -EACCES,
			       "nodes that meet by %s need a file with the job's secret",
			       b->way->name);
	return b->way->share(b, ret, e);
}

int bootstrap_exchange(struct bootstrap *b, const char *own, const bool *wants, bootstrap_set *set,
		       void *self, struct err *e)
{
	return b->way->exchange(b, own, wants, set, self, e);
}

struct bootstrap_lookup *bootstrap_lookup(const struct bootstrap *b, uint32_t rank)
{
	return b->way->lookup ? b->way->lookup(b, rank) : NULL;
}

bool bootstrap_lookup_run(const struct bootstrap_lookup *l, char ret[BOOTSTRAP_TEXT])
{
	return l->run(l, ret);
}

void bootstrap_lookup_free(struct bootstrap_lookup *l)
{
	if (l)
		l->free(l);
}
