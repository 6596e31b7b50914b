/* SPDX-License-Identifier: MIT */
/* page_meta: what the script of a page knows of the profile besides its stacks, as JSON. */
#ifndef VIEW_PAGE_PAGE_META_H
#define VIEW_PAGE_PAGE_META_H

#include "base/buf.h"
#include "model/profile.h"
#include "view/page/page_columns.h"
#include "view/page/page_opts.h"

/* Text from outside as a string of JSON, with what is not printable made visible. */
void page_put_json(struct buf *out, const char *text);

/* title: of the page, visible. Members: title, version, files, filter, comments, type, types (name,
 * unit, scale), time_ms, duration_ns, period, period_type, period_unit, samples, lost, diff, times
 * (bucket_ns, thinned), keys and sets: of each label set its labels, each an index of keys and the
 * value. */
void page_put_meta(struct buf *out, const struct profile *p, const struct page_opts *o,
		   const struct buf *title, const struct page_scales *scales);

#endif
