/* SPDX-License-Identifier: MIT */
/* attached_metrics: the usage of attached processes, or of the machine, as metrics. */
#ifndef USAGE_ATTACHED_METRICS_H
#define USAGE_ATTACHED_METRICS_H

#include "model/stat.h"
#include "usage/attached.h"

/* How many: always the same for the machine, and for processes. */
size_t attached_metrics(const struct attached *w, bool is_machine,
			struct stat_metric ret[STAT_MAX_METRICS]);

/* What each used in this time; of the machine's those that used CPU time, the most first. *ret:
 * [*ret_count], the caller's; its texts are w's. */
int attached_processes(const struct attached *w, bool is_machine, struct stat_process **ret,
		       size_t *ret_count, struct err *e) MUST_CHECK;

#endif
