/* SPDX-License-Identifier: MIT */
#include "cli/relocate_table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"

/* A row of the table. */
struct line {
	pid_t pid; /* 0: none */
	const char *process, *what, *path, *flags, *state, *reason, *remedy;
	int64_t bytes, position; /* -1: none */
};

static const struct line no_line = {
	.process = "",
	.what = "",
	.path = "",
	.flags = "",
	.state = "",
	.reason = "",
	.remedy = "",
	.bytes = -1,
	.position = -1,
};

static void put_line(struct emit *out, const struct line *l)
{
	if (l->pid)
		emit_int(out, "pid", l->pid);
	else
		emit_none(out, "pid");
	emit_optional(out, "process", l->process);
	emit_text(out, "what", l->what);
	emit_optional(out, "flags", l->flags);
	if (l->position >= 0)
		emit_int(out, "position", l->position);
	else
		emit_none(out, "position");
	if (l->bytes >= 0)
		emit_value(out, "size_bytes", l->bytes, "bytes");
	else
		emit_none(out, "size_bytes");
	emit_color(out, strcmp(l->state, "moves") == 0 || strcmp(l->state, "moved") == 0
				? TABLE_GOOD
				: TABLE_WARM);
	emit_text(out, "state", l->state);
	emit_name(out, "path", "", l->path, "");
	emit_hide(out);
	emit_optional(out, "reason", l->reason);
	emit_hide(out);
	emit_optional(out, "remedy", l->remedy);
}

static const char *path_of(const struct reloc_file *f)
{
	return !f->old_path ? "(deleted)" : *f->old_path ? f->old_path : ".";
}

static void fill_proc(const struct reloc_inventory *s, uint32_t proc, struct line *l)
{
	l->pid = s->procs[proc].pid;
	l->process = s->procs[proc].comm;
}

static void put_fd_flags(struct buf *text, const struct reloc_inventory *s,
			 const struct reloc_fd *fd)
{
	static const char *const access[] = { "r", "w", "rw", "rw" };
	const struct reloc_desc *d = &s->descs[fd->desc];

	buf_put_str(text, d->flags & O_PATH ? "path" : access[d->flags & O_ACCMODE]);
	if (d->flags & O_APPEND)
		buf_put_str(text, ",append");
	if (d->flags & O_DIRECT)
		buf_put_str(text, ",direct");
	if (fd->is_cloexec)
		buf_put_str(text, ",cloexec");
	for (size_t i = 0; i < s->lock_count; i++)
		if (s->locks[i].desc == fd->desc) {
			buf_put_str(text, ",locked");
			break;
		}
	for (size_t i = 0; i < s->fd_count; i++)
		if (s->fds[i].desc == fd->desc && &s->fds[i] != fd) {
			buf_put_str(text, ",shared");
			break;
		}
}

static void put_fds(struct emit *out, const struct reloc_inventory *s, const char *state)
{
	for (size_t i = 0; i < s->fd_count; i++) {
		CLEANUP(buf_fini) struct buf flags = { 0 };
		const struct reloc_fd *fd = &s->fds[i];
		const struct reloc_desc *d = &s->descs[fd->desc];
		const struct reloc_file *f = &s->files[d->file];
		struct line l = no_line;
		char what[32];

		if (d->stays)
			continue;
		put_fd_flags(&flags, s, fd);
		out->to->bad |= flags.bad;
		snprintf(what, sizeof what, "descriptor %d", fd->number);
		fill_proc(s, fd->proc, &l);
		l.what = what;
		l.flags = flags.data ? flags.data : "";
		l.position = d->pos <= INT64_MAX ? (int64_t)d->pos : -1;
		l.bytes = S_ISREG(f->mode) ? (int64_t)f->size_bytes : -1;
		l.state = state;
		l.path = path_of(f);
		emit_row(out);
		put_line(out, &l);
	}
}

static void put_maps(struct emit *out, const struct reloc_inventory *s, const char *state)
{
	for (size_t i = 0; i < s->map_count; i++) {
		const struct reloc_map *m = &s->maps[i];
		struct line l = no_line;
		char what[64], flags[32];

		if (m->stays)
			continue;
		snprintf(what, sizeof what, "mapping %" PRIx64 "-%" PRIx64, m->start, m->end);
		snprintf(flags, sizeof flags, "%s%s%s,%s", m->prot & PROT_READ ? "r" : "",
			 m->prot & PROT_WRITE ? "w" : "", m->prot & PROT_EXEC ? "x" : "",
			 m->is_shared ? "shared" : "private");
		fill_proc(s, m->proc, &l);
		l.what = what;
		l.flags = flags;
		l.position = (int64_t)m->offset;
		l.bytes = (int64_t)(m->end - m->start);
		l.state = state;
		l.path = path_of(&s->files[m->file]);
		emit_row(out);
		put_line(out, &l);
	}
}

static void put_dirs(struct emit *out, const struct reloc_inventory *s, const char *state)
{
	for (size_t i = 0; i < s->dir_count; i++) {
		const struct reloc_dir *d = &s->dirs[i];
		struct line l = no_line;

		if (d->stays)
			continue;
		fill_proc(s, d->proc, &l);
		l.what = "working directory";
		l.state = state;
		l.path = path_of(&s->files[d->file]);
		emit_row(out);
		put_line(out, &l);
	}
}

static void put_watches(struct emit *out, const struct reloc_inventory *s, const char *state)
{
	for (size_t i = 0; i < s->watch_count; i++) {
		const struct reloc_watch *w = &s->watches[i];
		struct line l = no_line;
		char what[48];

		fill_proc(s, w->proc, &l);
		snprintf(what, sizeof what, "watch %u of descriptor %d", w->wd, w->inotify);
		l.what = what;
		l.state = state;
		l.path = path_of(&s->files[w->file]);
		emit_row(out);
		put_line(out, &l);
	}
}

static const char *const states[] = {
	[RELOC_NOTE] = "note",
	[RELOC_STAYS] = "stays",
	[RELOC_BLOCKS] = "blocks",
};

static bool is_same_note(const struct reloc_obstacle *a, const struct reloc_obstacle *b)
{
	return a->kind == b->kind && !a->pid == !b->pid && strcmp(a->what, b->what) == 0 &&
	       strcmp(a->reason, b->reason) == 0 && strcmp(a->remedy, b->remedy) == 0;
}

/* Prints one note for all processes with the same obstacle. */
static void put_note(struct emit *out, const struct reloc_inventory *s, size_t first)
{
	const struct reloc_obstacle *o = &s->obstacles[first];
	CLEANUP(buf_fini) struct buf pids = { 0 };
	pid_t last = 0;

	for (size_t i = 0; i < first; i++)
		if (is_same_note(&s->obstacles[i], o))
			return;
	for (size_t i = first; o->pid && i < s->obstacle_count; i++) {
		if (s->obstacles[i].pid == last || !is_same_note(&s->obstacles[i], o))
			continue;
		last = s->obstacles[i].pid;
		buf_printf(&pids, "%s%d", pids.len ? "," : "", (int)last);
	}
	emit_note(out, "%s: %s%s%s: %s%s%s", states[o->kind], pids.len ? pids.data : "",
		  pids.len ? " " : "", o->what, o->reason, *o->remedy ? "; " : "", o->remedy);
}

static void put_obstacles(struct emit *out, const struct reloc_inventory *s)
{
	for (size_t i = 0; i < s->obstacle_count; i++) {
		const struct reloc_obstacle *o = &s->obstacles[i];
		struct line l = no_line;

		l.pid = o->pid;
		l.process = o->comm;
		l.what = o->what;
		l.path = o->path;
		l.state = states[o->kind];
		l.reason = o->reason;
		l.remedy = o->remedy;
		emit_row(out);
		put_line(out, &l);
		put_note(out, s, i);
	}
}

static const char *describe_umount(const struct relocate_done *done)
{
	static const char *const texts[] = {
		[RELOCATE_NO_MOUNT] = "OLD is not a mount point",
		[RELOCATE_FREE] = "umount OLD would succeed now",
		[RELOCATE_BUSY] = "umount OLD would fail now",
		[RELOCATE_UNTRIED] = "only root can test whether umount OLD would succeed now",
		[RELOCATE_HANGS] = "OLD's storage is not asked whether umount would succeed",
	};

	if (done->swap == RELOCATE_UNMOUNTED)
		return "OLD is unmounted, and NEW is mounted at its path";
	if (done->swap == RELOCATE_COVERED)
		return "NEW is mounted over OLD, which is still mounted";
	return texts[done->umount];
}

static void put_head(struct emit *out, const struct relocate_view *v)
{
	emit_head_str(out, "from", v->from);
	emit_head_str(out, "to", v->to);
	emit_head_int(out, "processes", (int64_t)v->inventory->proc_count);
	if (!v->done) {
		emit_head_value(out, "tree_bytes", (int64_t)v->tree_bytes, "bytes");
		emit_head_value(out, "expected_pause_ns", v->expected_ns, "nanoseconds");
		emit_head_int(out, "connections", (int64_t)v->connections);
		return;
	}
	emit_head_value(out, "expected_pause_ns", v->done->expected_ns, "nanoseconds");
	emit_head_value(out, "pause_ns", v->done->pause_ns, "nanoseconds");
	emit_hide(out);
	emit_head_value(out, "freeze_ns", v->done->freeze_ns, "nanoseconds");
	emit_hide(out);
	emit_head_value(out, "scan_ns", v->done->scan_ns, "nanoseconds");
	emit_hide(out);
	emit_head_value(out, "copy_ns", v->done->copy_ns, "nanoseconds");
	emit_hide(out);
	emit_head_value(out, "repoint_ns", v->done->repoint_ns, "nanoseconds");
	emit_hide(out);
	emit_head_value(out, "flush_ns", v->done->flush_ns, "nanoseconds");
	emit_head_value(out, "precopy_ns", v->done->precopy_ns, "nanoseconds");
	emit_head_int(out, "passes", v->done->passes);
	emit_head_value(out, "copied_bytes", (int64_t)v->done->copied_bytes, "bytes");
	emit_hide(out);
	emit_head_int(out, "visited_in_pause", (int64_t)v->done->final.entries);
	emit_head_value(out, "copied_in_pause_bytes", (int64_t)v->done->final.written_bytes,
			"bytes");
	emit_head_str(out, "umount", describe_umount(v->done));
}

void relocate_put(struct emit *out, const struct relocate_view *v)
{
	const char *state = v->done ? "moved" : "moves";

	put_head(out, v);
	emit_columns(out);
	put_line(out, &no_line);
	put_fds(out, v->inventory, state);
	put_maps(out, v->inventory, state);
	put_dirs(out, v->inventory, state);
	put_watches(out, v->inventory, state);
	if (v->done && v->done->was_moved)
		emit_note(out, "a killed auger had moved the job; this run finished the move");
	put_obstacles(out, v->done && v->done->umount != RELOCATE_HANGS ? &v->done->after
									: v->inventory);
}
