/* SPDX-License-Identifier: MIT */
#include "cachefs/store/passing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "cachefs/store/flight.h"
#include "cachefs/store/whole.h"

/* Since Linux 6.9. Source: linux/fuse.h */
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

#define PASSED_SHARE(budget) ((budget) / 4 * 3) /* the rest of the budget can go when it must */

/* Under the node's lock. */
struct passing {
	unsigned asking, passed; /* who has it open: one of them is 0 */
	struct chunks_held held; /* passed: all of its data, and what follows */
	int number;
};

struct fold {
	struct job job;
	struct cache *cache;
	struct whole *whole; /* counted */
};

static void fold(struct job *job)
{
	struct fold *f = (struct fold *)job;

	while (!f->cache->is_ending && whole_fold_next(f->whole))
		;
	whole_fold_end(f->whole);
	whole_unref(f->whole);
	free(f);
}

/* As well as any: it is only faster. */
static void start_folding(struct cache *c, struct whole *whole)
{
	struct fold *f;

	if (!whole_fold_begin(whole))
		return;
	f = calloc(1, sizeof *f);
	if (f)
		*f = (struct fold){ .job.run = fold, .cache = c, .whole = whole_ref(whole) };
	if (f && pool_submit(c->pool, &f->job, false) == 0)
		return;
	whole_fold_end(whole);
	if (f)
		whole_unref(f->whole);
	free(f);
}

static void let_go(struct cache *c, struct passing *p)
{
	atomic_fetch_sub(&c->passed_bytes, whole_size(p->held.whole));
	chunks_let_go(&p->held);
	p->number = 0;
}

/* Has the kernel know all of n's data, if it is here. */
static void pass(struct cache *c, struct node *n, struct passing *p)
{
	struct backing_map map = { 0 };
	uint64_t size;

	if (!chunks_hold(n, &p->held))
		return;
	size = whole_size(p->held.whole);
	map.fd = whole_fd(p->held.whole);
	if (atomic_fetch_add(&c->passed_bytes, size) + size <= PASSED_SHARE(c->opts.budget_bytes))
		p->number = ioctl(c->kernel.device, BACKING_OPEN, &map);
	if (p->number > 0) {
		start_folding(c, p->held.whole);
		return;
	}
	if (p->number < 0 && !atomic_exchange(&c->cannot_pass, true))
		log_msg(LOG_WARN, "cache", "no file is passed through: %s", strerror(errno));
	let_go(c, p);
}

int passing_open(struct cache *c, struct node *n)
{
	struct passing *p;
	int number = -ENOMEM;

	node_lock(c->nodes, n);
	p = n->passing ? n->passing : calloc(1, sizeof *p);
	n->passing = p;
	if (p && !p->asking && !p->passed)
		pass(c, n, p);
	if (p) {
		number = p->number;
		p->asking += !number;
		p->passed += number > 0;
	}
	node_unlock(c->nodes, n);
	return number;
}

void passing_close(struct cache *c, struct node *n, bool was_passed)
{
	struct passing *p;
	uint32_t number = 0;

	node_lock(c->nodes, n);
	p = n->passing;
	p->asking -= !was_passed;
	p->passed -= was_passed;
	if (!p->asking && !p->passed) {
		number = (uint32_t)p->number;
		if (number)
			let_go(c, p);
		n->passing = NULL;
		free(p);
	}
	node_unlock(c->nodes, n);
	if (number && ioctl(c->kernel.device, BACKING_CLOSE, &number) < 0)
		log_msg(LOG_DEBUG, "cache", "backing %u: cannot be closed", number);
}

void passing_free(struct passing *p)
{
	if (!p)
		return;
	free(p->held.list);
	whole_unref(p->held.whole);
	free(p);
}
