/* SPDX-License-Identifier: MIT */
/* Puts the frames of an interpreter in place of its own ones in a sample's stack. */
#include <string.h>

#include "interp/merge.h"
#include "perf/ingest_internal.h"

void ingest_interp_map(struct ingest *in, uint32_t pid, const struct vma *v)
{
	const struct interp_source *source = in->opts.interp;
	const struct interp_mapping m = { .pid = pid,
					  .start = v->start,
					  .end = v->end,
					  .offset = v->offset,
					  .file = v->dso,
					  .path = dsos_path(in->dsos, v->dso) };

	source->map(source->context, &m);
}

void ingest_interp_show(struct ingest *in, uint32_t process)
{
	struct process *p = tasks_process(in->tasks, process);
	uint32_t version = in->opts.interp->version;

	if (p->shown == version)
		return;
	p->shown = version;
	for (size_t i = 0; i < maps_count(p->maps); i++) {
		const struct vma *v = maps_get(p->maps, i);

		if (dsos_kind(in->dsos, v->dso) == DSO_FILE)
			ingest_interp_map(in, p->pid, v);
	}
}

static enum interp_kind kind_of(struct ingest *in, const struct user_stack_owner *owner,
				const struct stack_frame *f)
{
	const struct interp_source *source = in->opts.interp;
	const struct vma *v =
		f->space == FRAME_SPACE_USER ? maps_find(owner->maps, f->address) : NULL;
	const struct interp_file *file = v ? source->file(source->context, v->dso) : NULL;

	if (v && v->rule) /* a trampoline of python3 -X perf */
		return INTERP_FOLD;
	return file ? interp_kind_of(file, f->address - dsos_bias(in->dsos, v)) : INTERP_OTHER;
}

/* Of the user's frames; false: out of memory. *ret_loops: evaluation loops. */
static bool find_kinds(struct ingest *in, const struct user_stack_owner *owner,
		       const struct stack_frame *frames, size_t count, size_t *ret_loops)
{
	uint8_t *kinds;

	*ret_loops = 0;
	if (rows_reserve(&in->kinds, count + 1, 1) < 0)
		return false;
	kinds = in->kinds.data;
	for (size_t i = 0; i < count; i++) {
		kinds[i] = (uint8_t)kind_of(in, owner, &frames[i]);
		*ret_loops += kinds[i] == INTERP_EVAL;
	}
	return true;
}

/* The merged frames in place of those from first on. Returns the number of outer native frames. */
static size_t replace(struct ingest *in, size_t first, const struct interp_stack *s, size_t *count)
{
	const struct interp_item *items = in->items.data;
	size_t n = in->items.count, outer = 0;
	struct stack_frame *to;

	if (first + n + 1 > INGEST_MAX_FRAMES)
		n = INGEST_MAX_FRAMES - first - 1;
	if (rows_reserve(&in->merged, n + 1, sizeof *to) < 0)
		return 0;
	to = in->merged.data;
	for (size_t i = 0; i < n; i++) {
		outer = items[i].is_interp ? 0 : outer + 1;
		to[i] = items[i].is_interp
				? (struct stack_frame){ s->frames[items[i].index].location,
							FRAME_SPACE_INTERP }
				: in->frames[first + items[i].index];
	}
	memcpy(in->frames + first, to, n * sizeof *to);
	*count = first + n;
	return outer;
}

static bool is_mark(const struct stack_frame *f)
{
	return f->space == FRAME_SPACE_TRUNCATED || f->space == FRAME_SPACE_BROKEN;
}

/* The outer frames of a whole stack are those of the thread's others; a stack that is cut goes on
 * with them. */
static uint32_t find_root(struct ingest *in, const struct user_stack_owner *owner, bool is_whole,
			  size_t outer, uint32_t *root, size_t *count)
{
	const struct stack_frame cut = { .space = FRAME_SPACE_TRUNCATED };
	uint32_t node;

	if (!is_whole && root && *root)
		return *root;
	if (!is_whole)
		return stack_trie_node(in->trie, &cut, 1, owner->maps, owner->pid);
	node = stack_trie_node(in->trie, in->frames + *count - outer, outer, owner->maps,
			       owner->pid);
	if (root && outer)
		*root = node;
	*count -= outer;
	return node;
}

uint32_t ingest_interp_merge(struct ingest *in, const struct user_stack_owner *owner,
			     const struct interp_stack *s, uint32_t *root, size_t *count)
{
	size_t first = 0, end = in->join.copied ? in->join.copied : *count, loops, outer;
	bool has_mark = end && is_mark(&in->frames[end - 1]), is_whole;
	enum interp_fit fit;

	while (first < end && in->frames[first].space != FRAME_SPACE_USER && first + has_mark < end)
		first++;
	end -= has_mark;
	is_whole = !has_mark && !in->join.copied;
	if ((!s->count && in->opts.interp->version <= 1) ||
	    !find_kinds(in, owner, in->frames + first, end - first, &loops))
		return 0;
	if (!s->count) {
		in->counts.interp.native += loops && !owner->is_uncounted;
		return 0;
	}
	in->items.count = 0;
	if (interp_merge(in->kinds.data, end - first, is_whole, s, in->opts.interp->keeps_native,
			 &in->items, &fit) < 0)
		return 0;
	if (in->opts.interp->is_late && fit == INTERP_MISFIT) {
		in->counts.interp.native += !owner->is_uncounted;
		return 0;
	}
	in->counts.interp.merged += !owner->is_uncounted;
	in->counts.interp.misfit += fit == INTERP_MISFIT && !owner->is_uncounted;
	in->completed += !is_whole && root && *root && !owner->is_uncounted;
	in->completed_truncated += has_mark && in->frames[end].space == FRAME_SPACE_TRUNCATED &&
				   root && *root && !owner->is_uncounted;
	in->join = (struct user_stack_join){ 0 };
	outer = replace(in, first, s, count);
	return find_root(in, owner, is_whole, outer, root, count);
}

static uint32_t add_lock_label(struct ingest *in, uint32_t labels, enum interp_lock lock)
{
	const char *const names[] = {
		[INTERP_LOCK_HELD] = "holds", [INTERP_LOCK_AWAITED] = "waits"
	};
	struct label all[INGEST_LABELS_MAX];
	size_t count;
	const struct label *own = profile_get_labels(in->profile, labels, &count);

	if (count > INGEST_LABELS_MAX - 1)
		return labels;
	if (count)
		memcpy(all, own, count * sizeof *all);
	all[count++] = (struct label){ .key = in->keys.lock,
				       .str = profile_str(in->profile, names[lock]) };
	return profile_add_labels(in->profile, all, count);
}

uint32_t ingest_interp_labels(struct ingest *in, uint32_t labels, enum interp_lock lock)
{
	uint32_t *known;

	if (!in->opts.interp || !in->opts.interp->has_locks || lock == INTERP_LOCK_NONE)
		return labels;
	known = map_at(&in->lock_labels, map_pair(labels, lock));
	if (!known) {
		profile_fail_nomem(in->profile);
		return labels;
	}
	if (*known == MAP_NONE)
		*known = add_lock_label(in, labels, lock);
	return *known;
}
