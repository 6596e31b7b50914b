/* SPDX-License-Identifier: MIT */
/* page_times: fills the columns of a page's block that say when values were taken. */
#ifndef VIEW_PAGE_PAGE_TIMES_H
#define VIEW_PAGE_PAGE_TIMES_H

#include "base/err.h"
#include "model/profile.h"
#include "view/page/page_block.h"
#include "view/page/page_tree.h"

/* Nothing when the profile has no times. */
int page_times_put(struct page_block *b, const struct profile *p, const struct page_tree *t,
		   struct err *e) MUST_CHECK;

#endif
