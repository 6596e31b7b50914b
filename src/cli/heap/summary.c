/* SPDX-License-Identifier: MIT */
#include "cli/heap/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/top_functions.h"
#include "model/prune.h"
#include "model/units.h"
#include "source/load.h"

#define ROWS 5
#define ROWS_VERBOSE 25

static void put_bytes(struct buf *out, int64_t bytes)
{
	units_put(out, bytes, "bytes");
}

static void put_count(struct buf *out, int64_t count, const char *one, const char *many)
{
	units_put_grouped(out, (uint64_t)count);
	buf_printf(out, " %s", count == 1 ? one : many);
}

/* Each once, though several processes have it. */
static size_t count_stacks(const struct profile *p)
{
	unsigned char *seen = calloc(profile_node_count(p), 1);
	size_t count = 0;

	for (size_t i = 0; seen && i < profile_sample_count(p); i++) {
		uint32_t node = profile_get_sample(p, i).node;

		count += !seen[node];
		seen[node] = 1;
	}
	free(seen);
	return count;
}

static void put_first_line(struct buf *out, const struct heap_collection *h,
			   const struct heap_summary *s)
{
	buf_put_str(out, s->title);
	if (h->sample_bytes)
		buf_put_str(out, "about ");
	if (h->has_mappings)
		put_count(out, h->totals[HEAP_ALLOC_OBJECTS], "allocation or mapping of ",
			  "allocations and mappings of ");
	else
		put_count(out, h->totals[HEAP_ALLOC_OBJECTS], "allocation of ", "allocations of ");
	put_bytes(out, h->totals[HEAP_ALLOC_SPACE]);
	buf_put_str(out, ", ");
	put_count(out, (int64_t)count_stacks(h->profile), "distinct stack", "distinct stacks");
	buf_put_str(out, ", ");
	put_count(out, (int64_t)h->process_count, "process", "processes");
	if (h->sample_bytes) {
		buf_put_str(out, "; estimated, one sample in ");
		put_bytes(out, (int64_t)h->sample_bytes);
	}
	if (h->unknown_frees) {
		buf_put_str(out, "; ");
		put_count(out, (int64_t)h->unknown_frees, "older block freed",
			  "older blocks freed");
	}
	if (h->lost) {
		buf_put_str(out, "; ");
		put_count(out, (int64_t)h->lost, "ALLOCATION LOST", "ALLOCATIONS LOST");
	}
	buf_put_byte(out, '\n');
}

static void put_peak(struct buf *out, const struct heap_collection *h, const struct heap_summary *s)
{
	buf_put_str(out, "  peak ");
	put_bytes(out, h->totals[HEAP_PEAK_SPACE]);
	buf_put_str(out, " of ");
	put_count(out, h->totals[HEAP_PEAK_OBJECTS], "block", "blocks");
	if (h->process_count > 1)
		buf_put_str(out, " (peaks of all processes)");
	if (h->peak_error_bytes) {
		buf_put_str(out, ", within ");
		put_bytes(out, (int64_t)h->peak_error_bytes);
	}
	if (s->peak_rss_bytes) {
		buf_printf(out, "; RSS %s", h->process_count > 1 ? "of the largest " : "");
		put_bytes(out, s->peak_rss_bytes);
		buf_put_str(out, ": also code, files, stacks, and what malloc keeps free");
	}
	buf_put_byte(out, '\n');
}

static void put_held(struct buf *out, const struct heap_collection *h, const struct heap_summary *s)
{
	buf_put_str(out, s->is_live || s->is_attached ? "  held " : "  leaked ");
	put_bytes(out, h->totals[HEAP_INUSE_SPACE]);
	buf_put_str(out, " of ");
	put_count(out, h->totals[HEAP_INUSE_OBJECTS], "block", "blocks");
	if (s->is_attached)
		buf_put_str(out, ", of those allocated meanwhile");
	buf_put_str(out, s->is_live ? "\n" : ", not freed at the end\n");
}

static void put_temporary(struct buf *out, const struct heap_collection *h,
			  const struct heap_summary *s)
{
	int64_t all = h->totals[HEAP_ALLOC_OBJECTS];

	(void)s;
	buf_put_str(out, "  temporary ");
	put_count(out, h->totals[HEAP_TEMPORARY_OBJECTS], "block of ", "blocks of ");
	put_bytes(out, h->totals[HEAP_TEMPORARY_SPACE]);
	buf_printf(out, ", %.1f %% of all: freed after at most one other allocation\n",
		   all ? 100 * (double)h->totals[HEAP_TEMPORARY_OBJECTS] / (double)all : 0);
}

static const struct part {
	enum heap_type type;
	const char *none; /* what nothing was */
	void (*put)(struct buf *out, const struct heap_collection *h, const struct heap_summary *s);
} parts[] = {
	{ HEAP_PEAK_SPACE, "held at the peak", put_peak },
	{ HEAP_INUSE_SPACE, "leaked", put_held },
	{ HEAP_TEMPORARY_OBJECTS, "temporary", put_temporary },
};

static int put_part(struct buf *out, const struct heap_collection *h, const struct heap_summary *s,
		    const struct part *part, struct err *e)
{
	if (!h->totals[part->type]) {
		bool is_held = part->type == HEAP_INUSE_SPACE && (s->is_live || s->is_attached);

		buf_printf(out, "  nothing %s\n", is_held ? "held" : part->none);
		return 0;
	}
	part->put(out, h, s);
	return top_functions_put(out, h->profile, part->type,
				 cmd_is_verbose() ? ROWS_VERBOSE : ROWS, true, e);
}

static void put_next(struct buf *out, const struct heap_summary *s)
{
	if (!s->has_path || (s->path && strcmp(s->path, "-") == 0))
		return;
	buf_put_str(out, "next: auger report --value peak_space");
	if (s->path) {
		buf_put_byte(out, ' ');
		quote_argument(out, s->path);
	}
	buf_put_str(out, "   or   auger flame --value inuse_space ");
	if (s->path) {
		quote_argument(out, s->path);
		buf_put_byte(out, ' ');
	}
	buf_put_str(out, "-o heap.svg\n");
}

int heap_summary_put(struct buf *out, struct heap_collection *heap, const struct heap_summary *s,
		     struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc;

	put_first_line(&text, heap, s);
	rc = profile_prune(&heap->profile, e);
	if (s->is_live && rc == 0)
		rc = put_part(&text, heap, s, &parts[1], e);
	for (size_t i = 0; i < ARRAY_LEN(parts) && rc == 0; i++)
		if (!s->is_live || i != 1)
			rc = put_part(&text, heap, s, &parts[i], e);
	if (rc < 0)
		return rc;
	put_next(&text, s);
	if (buf_error(&text) < 0)
		return err_nomem(e);
	utf8_put_valid(out, text.data, text.len); /* names are what others chose */
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}
