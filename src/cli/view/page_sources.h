/* SPDX-License-Identifier: MIT */
/* page_sources: the source and instructions of the functions with the largest self. */
#ifndef CLI_VIEW_PAGE_SOURCES_H
#define CLI_VIEW_PAGE_SOURCES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"

/* Appends elements of page_source.h. LOG_WARN has the number of functions without text, and the
 * reason. */
int page_sources_collect(const struct profile *p, size_t type, struct buf *out,
			 struct err *e) MUST_CHECK;

#endif
