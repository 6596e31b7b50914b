/* SPDX-License-Identifier: MIT */
/* page_opts: what a page has besides stacks, and what it shows at first. */
#ifndef VIEW_PAGE_PAGE_OPTS_H
#define VIEW_PAGE_PAGE_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "view/report.h"

struct page_opts {
	const char *title;        /* NULL: made of the files */
	const char *const *files; /* [file_count]: as the user named them */
	size_t file_count;
	const struct buf *sources; /* elements of page_source.h; NULL: none */
	const char *filter;        /* as the user gave it; NULL: none */
	size_t type;               /* index of the sample type that is shown first */
	struct report_facts facts; /* of the whole profile; of a difference: of the one after */
	bool is_diff;              /* the profile is one of profile_diff(), or alike */
	const char *compared;      /* of a difference: name of the type that is compared */
	bool is_normalized; /* a difference: of shares of the whole at first, not of values */
};

#endif
