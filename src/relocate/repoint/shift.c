/* SPDX-License-Identifier: MIT */
#include "relocate/repoint/shift.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/repoint/shift_internal.h"
#include "target/proc.h"

#define PAGE 4096

struct shift_proc *shift_proc_at(const struct shift *sh, size_t i)
{
	return (struct shift_proc *)sh->procs.data + i;
}

int shift_add_given(struct shift_proc *p, int fd, size_t *ret, struct err *e)
{
	int *row = rows_add(&p->given, sizeof *row);

	if (!row)
		return err_nomem(e);
	*row = fd;
	*ret = p->given.count - 1;
	return 0;
}

/* A description goes to a process once, however many numbers it has there. */
static int add_fds(const struct shift *sh, struct shift_proc *p, struct err *e)
{
	const struct survey *s = sh->survey;

	for (size_t i = 0; i < s->fd_count; i++) {
		const struct reloc_fd *fd = &s->fds[i];
		struct shift_fd *row;
		uint32_t *known;

		if (fd->proc != p->proc || s->descs[fd->desc].is_left)
			continue;
		row = rows_add(&p->fds, sizeof *row);
		known = map_at(&p->descs, fd->desc);
		if (!row || !known)
			return err_nomem(e);
		*row = (struct shift_fd){ .row = (uint32_t)i, .kept = -1, .given = *known };
		if (*known != MAP_NONE)
			continue;
		if (shift_add_given(p, sh->desc_fds[fd->desc], &row->given, e) < 0)
			return e->code;
		*known = (uint32_t)row->given;
	}
	return 0;
}

static int open_old_dir(struct shift *sh, const struct reloc_dir *d, struct err *e)
{
	char path[PROC_PATH];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cwd", (int)d->tid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "%s", path) : shift_own_fd(sh, fd, e);
}

static int add_dirs(struct shift *sh, struct shift_proc *p, struct err *e)
{
	const struct survey *s = sh->survey;

	for (size_t i = 0; i < s->dir_count; i++) {
		const struct reloc_dir *d = &s->dirs[i];
		struct shift_dir *row;
		int fresh, old;

		if (d->proc != p->proc || d->is_left || d->kind != RELOC_DIR_CWD)
			continue;
		row = rows_add(&p->dirs, sizeof *row);
		if (!row)
			return err_nomem(e);
		row->row = (uint32_t)i;
		fresh = shift_open_file(sh, &s->files[d->file], p->proc, O_PATH | O_DIRECTORY, e);
		old = fresh < 0 ? fresh : open_old_dir(sh, d, e);
		if (old < 0 || shift_add_given(p, fresh, &row->given, e) < 0 ||
		    shift_add_given(p, old, &row->given_old, e) < 0)
			return e->code;
	}
	return 0;
}

/* Room for descriptors inside: what the process may have itself, for the time. */
static int step_limit(struct shift_proc *p, struct err *e)
{
	char path[PROC_PATH], text[4096];
	CLEANUP(rows_fini) struct rows open_now = { 0 };
	size_t need = p->given.count + p->fds.count + 2;
	struct rlimit was, wide;
	const char *line;
	struct inside_call set;
	unsigned long soft = RLIM_INFINITY, hard = RLIM_INFINITY;

	snprintf(path, sizeof path, "/proc/%d/limits", (int)inside_pid(p->in));
	file_read_start(path, text, sizeof text);
	line = strstr(text, "Max open files");
	if (!line || sscanf(line, "Max open files %lu %lu", &soft, &hard) != 2)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)inside_pid(p->in));
	if (proc_numbers(path, &open_now) == -ENOMEM)
		return err_nomem(e);
	need += open_now.count;
	if (need <= soft)
		return 0;
	if (need > hard)
		return err_set(e, -EMFILE, "process %d needs %zu descriptors and may have %lu",
			       (int)inside_pid(p->in), need, hard);
	was = (struct rlimit){ soft, hard };
	wide = (struct rlimit){ hard, hard };
	set = (struct inside_call){ .nr = SYS_prlimit64,
				    .arg = { 0, RLIMIT_NOFILE,
					     inside_put(p->in, &wide, sizeof wide) },
				    .what = "raising the limit of open files" };
	inside_step(p->in, &set);
	set.arg[2] = inside_put(p->in, &was, sizeof was);
	inside_undo(p->in, &set);
	inside_finish(p->in, 0, &set);
	return inside_run(p->in, e);
}

/* Copies of the old descriptors, to put them back or to close them. */
static void step_fds(const struct shift *sh, struct shift_proc *p)
{
	struct shift_fd *fds = p->fds.data;

	for (size_t i = 0; i < p->fds.count; i++) {
		struct inside_call close_it = { .nr = SYS_close,
						.may_fail = true,
						.what = "closing a descriptor" };

		fds[i].kept_step = inside_step(
			p->in, &(struct inside_call){
				       .nr = SYS_fcntl,
				       .arg = { (uint64_t)sh->survey->fds[fds[i].row].number,
						F_DUPFD_CLOEXEC, 0 },
				       .what = "keeping a descriptor" });
		close_it.arg0_from = inside_result_at(p->in, fds[i].kept_step);
		inside_undo(p->in, &close_it);
		inside_finish(p->in, 0, &close_it);
	}
}

static void go_fds(const struct shift *sh, struct shift_proc *p)
{
	const struct shift_fd *fds = p->fds.data;
	const int *numbers = p->numbers.data;

	for (size_t i = 0; i < p->fds.count; i++) {
		const struct reloc_fd *fd = &sh->survey->fds[fds[i].row];
		struct inside_call set = { .nr = SYS_dup3,
					   .arg = { (uint64_t)numbers[fds[i].given],
						    (uint64_t)fd->number,
						    fd->is_cloexec ? O_CLOEXEC : 0 },
					   .what = "setting a descriptor" };
		struct inside_call undo = set;

		undo.arg[0] = (uint64_t)fds[i].kept;
		inside_go(p->in, 0, &set, &undo);
	}
}

static int go_dirs(const struct shift *sh, struct shift_proc *p, struct err *e)
{
	const struct shift_dir *dirs = p->dirs.data;
	const int *numbers = p->numbers.data;

	for (size_t i = 0; i < p->dirs.count; i++) {
		struct inside_call set = { .nr = SYS_fchdir,
					   .arg = { (uint64_t)numbers[dirs[i].given] },
					   .what = "setting the working directory" };
		struct inside_call undo = set;
		int member = inside_member(p->in, sh->survey->dirs[dirs[i].row].tid, e);

		if (member < 0)
			return member;
		undo.arg[0] = (uint64_t)numbers[dirs[i].given_old];
		/* Could it go back? Directories above may be closed to it by now. */
		if (member == 0)
			inside_step(p->in, &undo);
		inside_go(p->in, member, &set, &undo);
	}
	return 0;
}

/* The page with the gate: the first that is given. */
static void step_gate(struct shift_proc *p)
{
	inside_step(p->in, &(struct inside_call){
				   .nr = SYS_mmap,
				   .arg = { inside_page(p->in), PAGE, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_FIXED,
					    (uint64_t)((const int *)p->numbers.data)[0], 0 },
				   .what = "mapping a page" });
}

/* Everything that does not change the process yet. */
static int prepare(struct shift *sh, struct shift_proc *p, struct err *e)
{
	struct shift_fd *fds = p->fds.data;

	shift_back_locks(sh, p);
	if (step_limit(p, e) < 0 || shift_give(p, e) < 0)
		return e->code;
	step_gate(p);
	step_fds(sh, p);
	shift_step_maps(sh, p);
	if (inside_run(p->in, e) < 0)
		return e->code;
	for (size_t i = 0; i < p->fds.count; i++)
		fds[i].kept = (int)inside_result(p->in, fds[i].kept_step);
	if (shift_fill_maps(sh, p, e) < 0)
		return e->code;
	go_fds(sh, p);
	shift_go_epolls(sh, p);
	shift_go_watches(sh, p);
	if (go_dirs(sh, p, e) < 0 || inside_run(p->in, e) < 0)
		return e->code;
	shift_go_maps(sh, p);
	shift_finish_locks(sh, p);
	return inside_arm(p->in, inside_page(p->in), e);
}

static int open_proc(struct shift *sh, struct shift_proc *p, struct err *e)
{
	size_t things, rounds, ignored;

	if (shift_add_given(p, sh->gate_fd, &ignored, e) < 0 || add_fds(sh, p, e) < 0 ||
	    shift_add_maps(sh, p, e) < 0 || add_dirs(sh, p, e) < 0 ||
	    shift_add_watches(sh, p, e) < 0)
		return e->code;
	things = p->given.count + p->fds.count * 2 + p->maps.count * 6 + p->watches.count * 16 +
		 sh->survey->lock_count + sh->survey->epoll_count + 32;
	rounds = p->given.count / 250 + 10;
	return inside_open(&p->in, sh->hold, sh->survey->procs[p->proc].pid, rounds * things,
			   65536 + rounds * 2048 + things * 64, e);
}

static bool has_rows(const struct survey *s, uint32_t proc)
{
	for (size_t i = 0; i < s->fd_count; i++)
		if (s->fds[i].proc == proc && !s->descs[s->fds[i].desc].is_left)
			return true;
	for (size_t i = 0; i < s->map_count; i++)
		if (s->maps[i].proc == proc && !s->maps[i].is_left)
			return true;
	for (size_t i = 0; i < s->watch_count; i++)
		if (s->watches[i].proc == proc)
			return true;
	for (size_t i = 0; i < s->dir_count; i++)
		if (s->dirs[i].proc == proc && !s->dirs[i].is_left)
			return true;
	return false;
}

static int add_procs(struct shift *sh, struct err *e)
{
	for (uint32_t i = 0; i < sh->survey->proc_count; i++) {
		struct shift_proc *p;

		if (!has_rows(sh->survey, i))
			continue;
		p = rows_add(&sh->procs, sizeof *p);
		if (!p)
			return err_nomem(e);
		p->proc = i;
	}
	return 0;
}

static int make_gate(struct shift *sh, struct err *e)
{
	void *page;

	sh->gate_fd = memfd_create("auger", MFD_CLOEXEC);
	if (sh->gate_fd < 0 || ftruncate(sh->gate_fd, PAGE) < 0)
		return err_errno(e, "memfd");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, sh->gate_fd, 0);
	if (page == MAP_FAILED)
		return err_errno(e, "memfd");
	sh->gate = page;
	*sh->gate = INSIDE_BACK;
	return 0;
}

static void set_gate(struct shift *sh, uint64_t way)
{
	if (sh->gate)
		__atomic_store_n(sh->gate, way, __ATOMIC_SEQ_CST);
}

static int run_all(struct shift *sh, struct err *e)
{
	if (make_gate(sh, e) < 0 || shift_drain_watches(sh->survey, e) < 0 ||
	    shift_open_descs(sh, e) < 0 || add_procs(sh, e) < 0)
		return e->code;
	for (size_t i = 0; i < sh->procs.count; i++)
		if (open_proc(sh, shift_proc_at(sh, i), e) < 0)
			return e->code;
	for (size_t i = 0; i < sh->procs.count; i++)
		if (prepare(sh, shift_proc_at(sh, i), e) < 0)
			return e->code;
	/* From here on all processes finish by themselves, should we die. */
	set_gate(sh, INSIDE_GO);
	for (size_t i = 0; i < sh->procs.count; i++)
		if (inside_run_go(shift_proc_at(sh, i)->in, e) < 0)
			return e->code;
	return 0;
}

int shift_begin(struct shift **ret, struct hold *h, const struct survey *s,
		const struct reloc_place *old_place, const struct reloc_place *new_place,
		struct err *e)
{
	struct shift *sh = calloc(1, sizeof *sh);
	struct err first, later;

	if (!sh)
		return err_nomem(e);
	*sh = (struct shift){ .hold = h,
			      .survey = s,
			      .old_place = old_place,
			      .new_place = new_place,
			      .gate_fd = -1 };
	if (run_all(sh, e) == 0) {
		*ret = sh;
		return 0;
	}
	first = *e;
	if (shift_undo(sh, &later) < 0)
		return err_set(e, -EIO, "%.100s; and could not be put back: %.100s", first.msg,
			       later.msg);
	return e->code;
}

static void free_proc(struct shift_proc *p)
{
	inside_close(p->in);
	rows_fini(&p->given);
	rows_fini(&p->numbers);
	map_fini(&p->descs);
	rows_fini(&p->fds);
	rows_fini(&p->maps);
	rows_fini(&p->dirs);
	rows_fini(&p->watches);
}

static void free_shift(struct shift *sh)
{
	for (size_t i = 0; i < sh->procs.count; i++)
		free_proc(shift_proc_at(sh, i));
	rows_fini(&sh->procs);
	for (size_t i = 0; i < sh->ours.count; i++)
		close(((const int *)sh->ours.data)[i]);
	rows_fini(&sh->ours);
	rows_fini(&sh->id.groups);
	if (sh->gate)
		munmap(sh->gate, PAGE);
	if (sh->gate_fd >= 0)
		close(sh->gate_fd);
	free(sh->desc_fds);
	free(sh);
}

int shift_commit(struct shift *sh, struct err *e)
{
	struct err later;
	struct err *first = e;

	for (size_t i = 0; i < sh->procs.count; i++)
		if (inside_run_finish(shift_proc_at(sh, i)->in, first) < 0)
			first = &later;
	free_shift(sh);
	return first == e ? 0 : e->code;
}

int shift_undo(struct shift *sh, struct err *e)
{
	struct err later;
	struct err *first = e;

	for (size_t i = 0; i < sh->procs.count; i++) {
		struct shift_proc *p = shift_proc_at(sh, i);

		if (p->in && inside_prepare_back(p->in, first) < 0)
			first = &later;
	}
	set_gate(sh, INSIDE_BACK);
	for (size_t i = 0; i < sh->procs.count; i++) {
		struct shift_proc *p = shift_proc_at(sh, i);

		if (p->in && inside_run_back(p->in, first) < 0)
			first = &later;
	}
	free_shift(sh);
	return first == e ? 0 : e->code;
}
