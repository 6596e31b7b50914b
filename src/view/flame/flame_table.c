/* SPDX-License-Identifier: MIT */
/* flame_table: what the script needs; data/flame/frames.js describes the format. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "view/flame/flame_internal.h"
#include "view/flame/svg.h"

#define TABLE_NAMES_BYTES ((size_t)32 << 20) /* of all; later ones are not named */

struct table {
	struct picture *p;
	struct map known; /* (frame id, shade) to the number of its entry */
	struct buf names; /* entries, an empty line behind each */
	uint32_t count;   /* of entries; [0] has no name */
};

static void table_fini(struct table *t)
{
	map_fini(&t->known);
	buf_fini(&t->names);
}

/* The shade, the name and the origin of a frame. */
static void put_entry(struct table *t, const struct frame *frame, struct flame_shade shade)
{
	struct picture *p = t->p;
	struct str name = strtab_get(p->side.tree.frames.strings, frame->name);

	flame_put_class(&t->names, shade);
	buf_clear(&p->name);
	svg_make_visible(&p->name, name.ptr, name.len, FLAME_NAME_LIMIT);
	flame_put_visible(&t->names, &p->name);
	flame_put_origin(p, &t->names, frame);
	buf_put_str(&t->names, "\n\n");
}

static uint32_t entry_of(struct table *t, uint32_t node)
{
	const struct tree *tree = &t->p->side.tree;
	struct flame_shade shade = flame_node_shade(t->p, node);
	uint32_t *known = map_at(&t->known, map_pair(tree->nodes[node].frame,
						     (uint32_t)shade.band << 8 | shade.shade));

	if (!known) {
		t->names.bad = true;
		return 0;
	}
	if (*known != MAP_NONE)
		return *known;
	t->p->shades[shade.band] |= (uint8_t)(1 << shade.shade);
	if (t->names.len > TABLE_NAMES_BYTES)
		return *known = 0;
	*known = t->count++;
	put_entry(t, tree_frame(tree, node), shade);
	return *known;
}

/* What a node has of the other profile, in the unit of the layout. */
static int64_t other_value(const struct picture *p, uint32_t node)
{
	uint32_t match = p->comparison.other_of[node];
	int64_t value = match == MAP_NONE ? 0 : p->other.tree.nodes[match].total;

	return value > 0 ? value : 0;
}

static void put_number(struct buf *out, int64_t value)
{
	if (value)
		buf_put_int(out, value);
}

static void put_row(struct table *t, const struct flame_box *box, struct buf *out)
{
	put_number(out, box->ups);
	buf_put_byte(out, ',');
	put_number(out, box->gap);
	buf_put_byte(out, ',');
	buf_put_int(out, box->width);
	if (!box->is_narrow && !box->is_bare)
		return;
	buf_put_byte(out, ',');
	put_number(out, entry_of(t, box->node));
	if (t->p->opts->other) {
		buf_put_byte(out, ',');
		put_number(out, other_value(t->p, box->node));
	}
}

static const char *other_word(const struct flame_opts *o)
{
	if (!o->other)
		return "";
	return o->is_wall ? "off the CPU" : o->is_negated ? "after" : "before";
}

void flame_make_table(struct picture *p, struct buf *out)
{
	CLEANUP(table_fini) struct table t = { .p = p };

	put_entry(&t, tree_frame(&p->side.tree, 0), (struct flame_shade){ FLAME_BAND_ROOT, 0 });
	t.count = 1;
	buf_printf(out, "data-halvings=\"%u\" data-unit=\"", p->layout.halvings);
	flame_put_visible(out, strcmp(p->unit.data, "count") == 0 ? &p->type : &p->unit);
	buf_printf(out, "\" data-other=\"%s\">", other_word(p->opts));
	for (size_t i = 0; i < p->layout.count; i++) {
		buf_put_str(out, i ? ";" : "");
		put_row(&t, &p->layout.boxes[i], out);
	}
	buf_put_str(out, "</metadata>\n<metadata id=\"names\">");
	if (t.count > 1)
		buf_put(out, t.names.data, t.names.len);
	buf_put_str(out, "</metadata>\n");
	out->bad |= buf_error(&t.names) < 0;
}
