/* SPDX-License-Identifier: MIT */
#include "view/page/page_meta.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "view/flame/svg.h"

#define TEXT_LIMIT 65536
#define SAFE_INTEGER (INT64_C(1) << 53) /* what a number of JavaScript holds exactly */

void page_put_json(struct buf *out, const char *text)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };

	svg_make_visible(&visible, text, strlen(text), TEXT_LIMIT);
	out->bad |= visible.bad;
	buf_put_byte(out, '"');
	for (size_t i = 0; i < visible.len && !visible.bad; i++) {
		if (visible.data[i] == '"' || visible.data[i] == '\\')
			buf_put_byte(out, '\\');
		buf_put_byte(out, (unsigned char)visible.data[i]);
	}
	buf_put_byte(out, '"');
}

static void put_member(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, ",\"%s\":", key);
	page_put_json(out, text);
}

static void put_list(struct buf *out, const char *key, const char *const *texts, size_t count)
{
	buf_printf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_put_byte(out, ',');
		page_put_json(out, texts[i]);
	}
	buf_put_byte(out, ']');
}

static void put_comments(struct buf *out, const struct profile *p)
{
	buf_put_str(out, ",\"comments\":[");
	for (size_t i = 0; i < profile_comment_count(p); i++) {
		if (i)
			buf_put_byte(out, ',');
		page_put_json(out, profile_get_comment(p, i));
	}
	buf_put_byte(out, ']');
}

static void put_types(struct buf *out, const struct profile *p, const struct page_scales *scales)
{
	buf_put_str(out, ",\"types\":[");
	for (size_t i = 0; i < profile_type_count(p); i++) {
		struct value_type type = profile_get_type(p, i);

		buf_printf(out, "%s{\"scale\":%" PRIu64, i ? "," : "", scales->of[i]);
		put_member(out, "name", profile_text(p, type.type));
		put_member(out, "unit", profile_text(p, type.unit));
		buf_put_byte(out, '}');
	}
	buf_put_byte(out, ']');
}

static void put_facts(struct buf *out, const struct profile *p, const struct page_opts *o)
{
	const struct profile_info *info = profile_get_info(p);

	buf_printf(out, ",\"time_ms\":%" PRId64 ",\"duration_ns\":%" PRId64 ",\"period\":%" PRId64,
		   info->time_ns / 1000000, info->duration_ns, info->period);
	put_member(out, "period_type", profile_text(p, info->period_type.type));
	put_member(out, "period_unit", profile_text(p, info->period_type.unit));
	buf_printf(out, ",\"samples\":%" PRId64 ",\"lost\":%" PRId64 ",\"skipped\":%zu",
		   o->facts.samples, o->facts.lost, info->skipped_lines);
}

static void put_diff(struct buf *out, const struct page_opts *o)
{
	buf_printf(out, ",\"diff\":{\"normalized\":%s", o->is_normalized ? "true" : "false");
	put_member(out, "type", o->compared ? o->compared : "");
	buf_put_byte(out, '}');
}

static void put_times(struct buf *out, const struct sample_times *t)
{
	if (t->entries.count)
		buf_printf(out, ",\"times\":{\"bucket_ns\":%" PRIu64 ",\"thinned\":%s}",
			   t->bucket_ns, t->is_thinned ? "true" : "false");
}

/* The keys of all labels, in order of first use. */
static void put_keys(struct buf *out, const struct profile *p, struct map *keys)
{
	buf_put_str(out, ",\"keys\":[");
	for (uint32_t set = 0; set < profile_label_set_count(p); set++) {
		size_t count;
		const struct label *labels = profile_get_labels(p, set, &count);

		for (size_t i = 0; i < count; i++) {
			uint32_t *number = map_at(keys, labels[i].key);

			if (!number) {
				out->bad = true;
				return;
			}
			if (*number != MAP_NONE)
				continue;
			*number = (uint32_t)keys->count - 1;
			if (*number)
				buf_put_byte(out, ',');
			page_put_json(out, profile_text(p, labels[i].key));
		}
	}
	buf_put_byte(out, ']');
}

static void put_label(struct buf *out, const struct profile *p, const struct label *label,
		      uint32_t key)
{
	buf_put_uint(out, key);
	buf_put_byte(out, ',');
	if (label->str)
		page_put_json(out, profile_text(p, label->str));
	else if (label->num > -SAFE_INTEGER && label->num < SAFE_INTEGER)
		buf_put_int(out, label->num);
	else
		buf_printf(out, "\"%" PRId64 "\"", label->num);
}

static void put_sets(struct buf *out, const struct profile *p, const struct map *keys)
{
	buf_put_str(out, ",\"sets\":[");
	for (uint32_t set = 0; set < profile_label_set_count(p); set++) {
		size_t count;
		const struct label *labels = profile_get_labels(p, set, &count);

		buf_put_str(out, set ? ",[" : "[");
		for (size_t i = 0; i < count; i++) {
			if (i)
				buf_put_byte(out, ',');
			put_label(out, p, &labels[i], map_get(keys, labels[i].key));
		}
		buf_put_byte(out, ']');
	}
	buf_put_byte(out, ']');
}

void page_put_meta(struct buf *out, const struct profile *p, const struct page_opts *o,
		   const struct buf *title, const struct page_scales *scales)
{
	struct map keys = { 0 };

	buf_put_str(out, "{\"version\":\"" AUGER_VERSION "\"");
	put_member(out, "title", title->data ? title->data : "");
	put_member(out, "filter", o->filter ? o->filter : "");
	put_list(out, "files", o->files, o->file_count);
	put_comments(out, p);
	buf_printf(out, ",\"type\":%zu", o->type);
	put_types(out, p, scales);
	put_facts(out, p, o);
	if (o->is_diff)
		put_diff(out, o);
	else
		put_times(out, profile_get_times(p));
	put_keys(out, p, &keys);
	put_sets(out, p, &keys);
	buf_put_byte(out, '}');
	map_fini(&keys);
}
