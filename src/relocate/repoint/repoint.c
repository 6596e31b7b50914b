/* SPDX-License-Identifier: MIT */
#include "relocate/repoint/repoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/repoint/repoint_internal.h"
#include "target/proc.h"

#define PAGE proc_page_bytes()
#define MAX_SPARES 256 /* threads that one process may lose */

struct repoint_proc *repoint_proc_at(const struct repoint *rp, size_t i)
{
	return (struct repoint_proc *)rp->procs.data + i;
}

int repoint_add_fd(struct repoint_proc *p, int fd, size_t *ret, struct err *e)
{
	int *row = rows_add(&p->sent, sizeof *row);

	if (!row)
		return err_nomem(e);
	*row = fd;
	*ret = p->sent.count - 1;
	return 0;
}

/* Each process gets a description once, even if it has several descriptors of it. */
static int add_fds(const struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->fd_count; i++) {
		const struct reloc_fd *fd = &s->fds[i];
		struct repoint_fd *row;
		uint32_t *known;

		if (fd->proc != p->proc || s->descs[fd->desc].stays)
			continue;
		row = rows_add(&p->fds, sizeof *row);
		known = map_at(&p->descs, fd->desc);
		if (!row || !known)
			return err_nomem(e);
		*row = (struct repoint_fd){ .row = (uint32_t)i, .saved = -1, .sent = *known };
		if (*known != MAP_NONE)
			continue;
		if (repoint_add_fd(p, rp->desc_fds[fd->desc], &row->sent, e) < 0)
			return e->code;
		*known = (uint32_t)row->sent;
	}
	return 0;
}

static int open_old_dir(struct repoint *rp, const struct reloc_dir *d, struct err *e)
{
	char path[PROC_PATH];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cwd", (int)d->tid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "%s", path) : repoint_keep_fd(rp, fd, e);
}

static int add_dirs(struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	const struct reloc_inventory *s = rp->inventory;

	for (size_t i = 0; i < s->dir_count; i++) {
		const struct reloc_dir *d = &s->dirs[i];
		struct repoint_dir *row;
		int new_at, old;

		if (d->proc != p->proc || d->stays || d->kind != RELOC_DIR_CWD)
			continue;
		row = rows_add(&p->dirs, sizeof *row);
		if (!row)
			return err_nomem(e);
		row->row = (uint32_t)i;
		new_at =
			repoint_open_file(rp, &s->files[d->file], p->proc, O_PATH | O_DIRECTORY, e);
		old = new_at < 0 ? new_at : open_old_dir(rp, d, e);
		if (old < 0 || repoint_add_fd(p, new_at, &row->sent, e) < 0 ||
		    repoint_add_fd(p, old, &row->sent_old, e) < 0)
			return e->code;
	}
	return 0;
}

/* How many descriptors it has open. The kernel has the number since Linux 6.2. */
static int count_fds(pid_t pid, size_t *ret, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	char path[PROC_PATH];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	*ret = stat(path, &st) == 0 ? (size_t)st.st_size : 0;
	if (*ret)
		return 0;
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	*ret = numbers.count;
	return 0;
}

/* Raises RLIMIT_NOFILE of the process for the move, as far as its hard limit allows. */
static int prepare_limit(struct repoint_proc *p, struct err *e)
{
	size_t need, open_now;
	pid_t pid = remote_pid(p->remote);
	struct rlimit was, wide;
	struct remote_call set;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &was) < 0)
		return 0;
	if (count_fds(pid, &open_now, e) < 0)
		return e->code;
	need = p->sent.count + p->fds.count + 2 + open_now;
	if (need <= was.rlim_cur)
		return 0;
	if (need > was.rlim_max)
		return err_set(e, -EMFILE,
			       "process %d needs %zu descriptors, and its hard limit is %lu",
			       (int)pid, need, (unsigned long)was.rlim_max);
	wide = (struct rlimit){ was.rlim_max, was.rlim_max };
	set = (struct remote_call){ .nr = SYS_prlimit64,
				    .arg = { 0, RLIMIT_NOFILE,
					     remote_put(p->remote, &wide, sizeof wide) },
				    .what = "raise the limit of open files" };
	remote_add_step(p->remote, &set);
	set.arg[2] = remote_put(p->remote, &was, sizeof was);
	remote_add_undo(p->remote, &set);
	remote_add_finish(p->remote, 0, &set);
	return remote_run_steps(p->remote, e);
}

/* Duplicates the old descriptors: rollback restores them, finish closes them. */
static void prepare_fds(const struct repoint *rp, struct repoint_proc *p)
{
	struct repoint_fd *fds = p->fds.data;

	for (size_t i = 0; i < p->fds.count; i++) {
		struct remote_call close_it = { .nr = SYS_close,
						.may_fail = true,
						.what = "close a descriptor" };

		fds[i].saved_step = remote_add_step(
			p->remote, &(struct remote_call){
					   .nr = SYS_fcntl,
					   .arg = { (uint64_t)rp->inventory->fds[fds[i].row].number,
						    F_DUPFD_CLOEXEC, 0 },
					   .what = "duplicate a descriptor" });
		close_it.arg0_from = remote_result_at(p->remote, fds[i].saved_step);
		remote_add_undo_of(p->remote, fds[i].member, &close_it);
		remote_add_finish(p->remote, fds[i].member, &close_it);
	}
}

static void apply_fds(const struct repoint *rp, struct repoint_proc *p)
{
	const struct repoint_fd *fds = p->fds.data;
	const int *remote_fds = p->remote_fds.data;

	for (size_t i = 0; i < p->fds.count; i++) {
		const struct reloc_fd *fd = &rp->inventory->fds[fds[i].row];
		struct remote_call set = { .nr = SYS_dup3,
					   .arg = { (uint64_t)remote_fds[fds[i].sent],
						    (uint64_t)fd->number,
						    fd->is_cloexec ? O_CLOEXEC : 0 },
					   .what = "repoint a descriptor" };
		struct remote_call undo = set;

		undo.arg[0] = (uint64_t)fds[i].saved;
		remote_add_apply(p->remote, fds[i].member, &set, &undo);
	}
}

static int apply_dirs(const struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	const struct repoint_dir *dirs = p->dirs.data;
	const int *remote_fds = p->remote_fds.data;

	for (size_t i = 0; i < p->dirs.count; i++) {
		struct remote_call set = { .nr = SYS_fchdir,
					   .arg = { (uint64_t)remote_fds[dirs[i].sent] },
					   .what = "change the working directory" };
		struct remote_call undo = set;
		int member = remote_find_member(p->remote, rp->inventory->dirs[dirs[i].row].tid, e);

		if (member < 0)
			return member;
		undo.arg[0] = (uint64_t)remote_fds[dirs[i].sent_old];
		/* Would the rollback work? The process may lack search permission above it by now.
		 */
		if (member == 0)
			remote_add_step(p->remote, &undo);
		remote_add_apply(p->remote, member, &set, &undo);
	}
	return 0;
}

/* Maps the page of the commit flag, the first descriptor that was sent. */
static void map_commit_flag(struct repoint_proc *p)
{
	remote_add_step(
		p->remote,
		&(struct remote_call){ .nr = SYS_mmap,
				       .arg = { remote_page(p->remote), PAGE,
						PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
						(uint64_t)((const int *)p->remote_fds.data)[0], 0 },
				       .what = "map a page" });
}

/* Runs all steps that do not change the process yet. */
static int prepare(struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	struct repoint_fd *fds = p->fds.data;

	repoint_rollback_locks(rp, p);
	if (prepare_limit(p, e) < 0 || repoint_send_fds(p, e) < 0)
		return e->code;
	map_commit_flag(p);
	if (apply_dirs(rp, p, e) < 0)
		return e->code;
	prepare_fds(rp, p);
	repoint_prepare_maps(rp, p);
	if (remote_run_steps(p->remote, e) < 0)
		return e->code;
	for (size_t i = 0; i < p->fds.count; i++)
		fds[i].saved = (int)remote_result(p->remote, fds[i].saved_step);
	if (repoint_fill_maps(rp, p, e) < 0)
		return e->code;
	apply_fds(rp, p);
	repoint_apply_epolls(rp, p);
	repoint_apply_watches(rp, p);
	repoint_apply_maps(rp, p);
	repoint_finish_locks(rp, p);
	return remote_arm(p->remote, remote_page(p->remote), e);
}

/* May closing the old descriptor wait for storage? */
static bool may_hang(const struct repoint *rp, const struct repoint_fd *fd)
{
	const struct reloc_inventory *s = rp->inventory;
	const struct reloc_desc *d = &s->descs[s->fds[fd->row].desc];

	return rp->old_dir->writes_at_close && !(d->flags & O_PATH) &&
	       S_ISREG(s->files[d->file].mode);
}

static size_t count_spares(const struct repoint *rp, const struct repoint_proc *p)
{
	const struct repoint_fd *fds = p->fds.data;
	size_t count = 0;

	for (size_t i = 0; i < p->fds.count && count < MAX_SPARES; i++)
		count += may_hang(rp, &fds[i]);
	return count;
}

static void choose_members(const struct repoint *rp, struct repoint_proc *p)
{
	struct repoint_fd *fds = p->fds.data;
	size_t count = 0;

	for (size_t i = 0; i < p->fds.count; i++)
		if (may_hang(rp, &fds[i]))
			fds[i].member = remote_spare(p->remote, count++);
}

static int open_proc(struct repoint *rp, struct repoint_proc *p, struct err *e)
{
	size_t things, rounds, ignored;

	if (repoint_add_fd(p, rp->flag_fd, &ignored, e) < 0 || add_fds(rp, p, e) < 0 ||
	    repoint_add_maps(rp, p, e) < 0 || add_dirs(rp, p, e) < 0 ||
	    repoint_add_watches(rp, p, e) < 0)
		return e->code;
	things = p->sent.count + p->fds.count * 2 + p->maps.count * 6 + p->watches.count * 16 +
		 rp->inventory->lock_count + rp->inventory->epoll_count + 32;
	rounds = p->sent.count / 250 + 10;
	if (remote_open(&p->remote, rp->freeze, rp->inventory->procs[p->proc].pid, rounds * things,
			65536 + rounds * 2048 + things * 64, count_spares(rp, p), e) < 0)
		return e->code;
	choose_members(rp, p);
	return 0;
}

static bool has_rows(const struct reloc_inventory *s, uint32_t proc)
{
	for (size_t i = 0; i < s->fd_count; i++)
		if (s->fds[i].proc == proc && !s->descs[s->fds[i].desc].stays)
			return true;
	for (size_t i = 0; i < s->map_count; i++)
		if (s->maps[i].proc == proc && !s->maps[i].stays)
			return true;
	for (size_t i = 0; i < s->watch_count; i++)
		if (s->watches[i].proc == proc)
			return true;
	for (size_t i = 0; i < s->dir_count; i++)
		if (s->dirs[i].proc == proc && !s->dirs[i].stays)
			return true;
	return false;
}

static int add_procs(struct repoint *rp, struct err *e)
{
	for (uint32_t i = 0; i < rp->inventory->proc_count; i++) {
		struct repoint_proc *p;

		if (!has_rows(rp->inventory, i))
			continue;
		p = rows_add(&rp->procs, sizeof *p);
		if (!p)
			return err_nomem(e);
		p->proc = i;
	}
	return 0;
}

static int make_commit_flag(struct repoint *rp, struct err *e)
{
	void *page;

	rp->flag_fd = memfd_create("auger", MFD_CLOEXEC);
	if (rp->flag_fd < 0 || ftruncate(rp->flag_fd, (off_t)PAGE) < 0)
		return err_errno(e, "memfd");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rp->flag_fd, 0);
	if (page == MAP_FAILED)
		return err_errno(e, "memfd");
	rp->commit_flag = page;
	*rp->commit_flag = REMOTE_ROLLBACK;
	return 0;
}

static void set_commit_flag(struct repoint *rp, uint64_t way)
{
	if (rp->commit_flag)
		__atomic_store_n(rp->commit_flag, way, __ATOMIC_SEQ_CST);
}

static int run_all(struct repoint *rp, struct err *e)
{
	if (make_commit_flag(rp, e) < 0 || repoint_drain_inotify(rp->inventory, e) < 0 ||
	    repoint_open_descs(rp, e) < 0 || add_procs(rp, e) < 0)
		return e->code;
	for (size_t i = 0; i < rp->procs.count; i++)
		if (open_proc(rp, repoint_proc_at(rp, i), e) < 0)
			return e->code;
	for (size_t i = 0; i < rp->procs.count; i++)
		if (prepare(rp, repoint_proc_at(rp, i), e) < 0)
			return e->code;
	/* From here on all processes commit by themselves, even if we die. */
	set_commit_flag(rp, REMOTE_APPLY);
	for (size_t i = 0; i < rp->procs.count; i++)
		if (remote_run_apply(repoint_proc_at(rp, i)->remote, e) < 0)
			return e->code;
	return 0;
}

int repoint_begin(struct repoint **ret, struct freeze *h, const struct reloc_inventory *s,
		  const struct top_dir *old_dir, const struct top_dir *new_dir, struct err *e)
{
	struct repoint *rp = calloc(1, sizeof *rp);
	struct err first, later;

	if (!rp)
		return err_nomem(e);
	*rp = (struct repoint){
		.freeze = h, .inventory = s, .old_dir = old_dir, .new_dir = new_dir, .flag_fd = -1
	};
	if (run_all(rp, e) == 0) {
		*ret = rp;
		return 0;
	}
	first = *e;
	if (repoint_undo(rp, &later) < 0)
		return err_set(e, -EIO, "%.100s; the rollback failed: %.100s", first.msg,
			       later.msg);
	return e->code;
}

static void free_proc(struct repoint_proc *p)
{
	remote_close(p->remote);
	rows_fini(&p->sent);
	rows_fini(&p->remote_fds);
	map_fini(&p->descs);
	rows_fini(&p->fds);
	rows_fini(&p->maps);
	rows_fini(&p->dirs);
	rows_fini(&p->watches);
}

/* Lets the processes go back to their program. */
static void free_procs(struct repoint *rp)
{
	for (size_t i = 0; i < rp->procs.count; i++)
		free_proc(repoint_proc_at(rp, i));
	rows_fini(&rp->procs);
}

void repoint_free(struct repoint *rp)
{
	if (!rp)
		return;
	free_procs(rp);
	for (size_t i = 0; i < rp->ours.count; i++)
		close(((const int *)rp->ours.data)[i]);
	rows_fini(&rp->ours);
	rows_fini(&rp->id.groups);
	if (rp->commit_flag)
		munmap(rp->commit_flag, PAGE);
	if (rp->flag_fd >= 0)
		close(rp->flag_fd);
	free(rp->desc_fds);
	free(rp);
}

int repoint_commit(struct repoint *rp, struct err *e)
{
	struct err later;
	struct err *first = e;

	for (size_t i = 0; i < rp->procs.count; i++)
		if (remote_run_finish(repoint_proc_at(rp, i)->remote, first) < 0)
			first = &later;
	free_procs(rp);
	return first == e ? 0 : e->code;
}

int repoint_undo(struct repoint *rp, struct err *e)
{
	struct err later;
	struct err *first = e;

	for (size_t i = 0; i < rp->procs.count; i++) {
		struct repoint_proc *p = repoint_proc_at(rp, i);

		if (p->remote && remote_prepare_rollback(p->remote, first) < 0)
			first = &later;
	}
	set_commit_flag(rp, REMOTE_ROLLBACK);
	for (size_t i = 0; i < rp->procs.count; i++) {
		struct repoint_proc *p = repoint_proc_at(rp, i);

		if (p->remote && remote_run_rollback(p->remote, first) < 0)
			first = &later;
	}
	repoint_free(rp);
	return first == e ? 0 : e->code;
}
