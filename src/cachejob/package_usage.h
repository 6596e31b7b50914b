/* SPDX-License-Identifier: MIT */
/* package_usage: how much of each installed Python package a job has used. */
#ifndef CACHEJOB_PACKAGE_USAGE_H
#define CACHEJOB_PACKAGE_USAGE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "cachejob/inventory.h"
#include "view/emit.h"

struct package_usage {
	struct str name,
		folder; /* borrowed from the inventory; folder: "/site-packages" and before */
	size_t files, used_files;
};

/* Appends struct package_usage to ret, those with most unused files first. -ENOMEM. */
int package_usage_make(const struct inventory *v, struct rows *ret, struct err *e) MUST_CHECK;

/* Write the rows, and the first `most` packages as the section of paths_summary.md. */
void package_usage_put(const struct rows *packages, struct emit *out);
void package_usage_put_summary(const struct rows *packages, size_t most, struct buf *out);

#endif
