/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "relocate/inventory/scan_internal.h"

/* Descriptors, tables and address spaces that processes share, sorted by kcmp(2). A comparison
 * cannot fail, so the error is remembered. */
struct order {
	const struct scan *sc;
	int error; /* errno; 0: none */
};

static int by_kcmp(struct order *o, pid_t a, pid_t b, int type, int x, int y)
{
	long n = syscall(SYS_kcmp, a, b, type, (unsigned long)x, (unsigned long)y);

	if (n < 0 && errno != ESRCH && errno != EBADF)
		o->error = errno;
	return n == 1 ? -1 : n == 2 ? 1 : n == 0 ? 0 : (a > b) - (a < b);
}

static int compare_fds(const void *a, const void *b, void *arg)
{
	struct order *o = arg;
	const struct reloc_proc *procs = o->sc->procs.data;
	const struct reloc_desc *descs = o->sc->descs.data;
	const struct reloc_fd *fds = o->sc->fds.data;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (descs[i].file != descs[j].file)
		return descs[i].file < descs[j].file ? -1 : 1;
	return by_kcmp(o, procs[fds[i].proc].pid, procs[fds[j].proc].pid, KCMP_FILE, fds[i].number,
		       fds[j].number);
}

static int compare_procs(const void *a, const void *b, void *arg, int type)
{
	struct order *o = arg;
	const struct reloc_proc *procs = o->sc->procs.data;

	return by_kcmp(o, procs[*(const uint32_t *)a].pid, procs[*(const uint32_t *)b].pid, type, 0,
		       0);
}

static int compare_files(const void *a, const void *b, void *arg)
{
	return compare_procs(a, b, arg, KCMP_FILES);
}

static int compare_spaces(const void *a, const void *b, void *arg)
{
	return compare_procs(a, b, arg, KCMP_VM);
}

static uint32_t *make_order(size_t count)
{
	uint32_t *order = malloc((count ? count : 1) * sizeof *order);

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	return order;
}

static int check_order(const struct order *o, struct err *e)
{
	if (o->error)
		return err_set(e, -o->error, "kcmp: %s", strerror(o->error));
	return 0;
}

/* Sets for each process the first one, by row, that shares its table. */
static void link_procs(struct scan *sc, const uint32_t *order, struct order *o, bool is_files)
{
	struct reloc_proc *procs = sc->procs.data;

	for (size_t i = 0, end; i < sc->procs.count; i = end) {
		uint32_t first = order[i];

		for (end = i + 1; end < sc->procs.count; end++) {
			if (compare_procs(&order[i], &order[end], o,
					  is_files ? KCMP_FILES : KCMP_VM) != 0)
				break;
			first = order[end] < first ? order[end] : first;
		}
		for (size_t k = i; k < end; k++)
			*(is_files ? &procs[order[k]].files_of : &procs[order[k]].mm_of) = first;
	}
}

int scan_shared_tables(struct scan *sc, struct err *e)
{
	struct order o = { .sc = sc };
	uint32_t *order = make_order(sc->procs.count);

	if (!order)
		return err_nomem(e);
	qsort_r(order, sc->procs.count, sizeof *order, compare_files, &o);
	link_procs(sc, order, &o, true);
	qsort_r(order, sc->procs.count, sizeof *order, compare_spaces, &o);
	link_procs(sc, order, &o, false);
	free(order);
	return check_order(&o, e);
}

/* Sorts descriptors; equal ones get one row of descs. */
static int merge_descs(struct scan *sc, const uint32_t *order, struct order *o)
{
	struct reloc_desc *merged = calloc(sc->fds.count + 1, sizeof *merged);
	struct reloc_desc *descs = sc->descs.data;
	struct reloc_fd *fds = sc->fds.data;
	uint32_t *of = calloc(sc->fds.count + 1, sizeof *of);
	size_t count = 0;

	if (!merged || !of) {
		free(merged);
		free(of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sc->fds.count; i++) {
		bool stays = descs[order[i]].stays;

		if (i == 0 || compare_fds(&order[i - 1], &order[i], o) != 0) {
			merged[count++] = descs[order[i]];
		} else if (order[i] < merged[count - 1].first) {
			stays |= merged[count - 1].stays;
			merged[count - 1] = descs[order[i]];
		}
		merged[count - 1].stays |= stays;
		of[order[i]] = (uint32_t)(count - 1);
	}
	for (size_t i = 0; i < sc->fds.count; i++)
		fds[i].desc = of[i];
	free(of);
	if (count)
		memcpy(descs, merged, count * sizeof *merged);
	free(merged);
	sc->descs.count = count;
	return 0;
}

static bool is_same_lock(const struct scan *sc, const struct reloc_lock *a,
			 const struct reloc_lock *b)
{
	const struct reloc_desc *descs = sc->descs.data;

	if (a->kind != b->kind || a->is_write != b->is_write || a->start != b->start ||
	    a->end != b->end)
		return false;
	return a->kind == RELOC_LOCK_POSIX
		       ? a->proc == b->proc && descs[a->desc].file == descs[b->desc].file
		       : a->desc == b->desc;
}

/* fdinfo shows a lock at each descriptor that may own it. */
static void merge_locks(struct scan *sc)
{
	const struct reloc_desc *descs = sc->descs.data;
	const struct reloc_fd *fds = sc->fds.data;
	struct reloc_lock *locks = sc->locks.data;
	size_t count = 0;

	for (size_t i = 0; i < sc->locks.count; i++) {
		struct reloc_lock lock = locks[i];
		size_t k = 0;

		lock.desc = fds[lock.desc].desc;
		lock.stays = descs[lock.desc].stays;
		while (k < count && !is_same_lock(sc, &locks[k], &lock))
			k++;
		if (k == count)
			locks[count++] = lock;
	}
	sc->locks.count = count;
}

/* Each process shows an inherited epoll set. */
static bool is_same_epoll(const struct scan *sc, struct order *o, const struct reloc_epoll *a,
			  const struct reloc_epoll *b)
{
	const struct reloc_proc *procs = sc->procs.data;

	return a->desc == b->desc && a->number == b->number &&
	       by_kcmp(o, procs[a->proc].pid, procs[b->proc].pid, KCMP_FILE, a->epoll, b->epoll) ==
		       0;
}

static void merge_epolls(struct scan *sc, struct order *o)
{
	struct reloc_epoll *epolls = sc->epolls.data;
	size_t count = 0;

	for (size_t i = 0; i < sc->epolls.count; i++) {
		struct reloc_epoll row = epolls[i];
		size_t k = 0;

		while (k < count && !is_same_epoll(sc, o, &epolls[k], &row))
			k++;
		if (k == count)
			epolls[count++] = row;
	}
	sc->epolls.count = count;
}

/* The process may have closed the number that an epoll set has. */
static void find_epolls(struct scan *sc)
{
	const struct reloc_proc *procs = sc->procs.data;
	const struct reloc_fd *fds = sc->fds.data;
	struct reloc_epoll *epolls = sc->epolls.data;
	char what[48];

	for (size_t i = 0; i < sc->epolls.count; i++) {
		for (size_t k = 0; k < sc->fds.count; k++)
			if (fds[k].proc == epolls[i].proc && fds[k].number == epolls[i].number)
				epolls[i].desc = fds[k].desc;
		if (epolls[i].desc != RELOC_NONE)
			continue;
		snprintf(what, sizeof what, "descriptor %d (epoll)", epolls[i].epoll);
		scan_add_obstacle_pid(sc, RELOC_BLOCKS, procs[epolls[i].proc].pid,
				      procs[epolls[i].proc].comm, what, "",
				      "it has a file of OLD whose descriptor is closed", "");
	}
}

int scan_shared_descs(struct scan *sc, struct err *e)
{
	struct order o = { .sc = sc };
	uint32_t *order = make_order(sc->fds.count);
	int rc;

	if (!order)
		return err_nomem(e);
	qsort_r(order, sc->fds.count, sizeof *order, compare_fds, &o);
	rc = merge_descs(sc, order, &o);
	free(order);
	if (rc < 0)
		return err_nomem(e);
	merge_locks(sc);
	find_epolls(sc);
	merge_epolls(sc, &o);
	scan_merge_watches(sc);
	return check_order(&o, e);
}
