/* SPDX-License-Identifier: MIT */
/* Attaching to a running process: what is called from outside (wire/heap.h), in one of its threads.
 */
#include <errno.h>

#include "preload/heap/hooks.h"
#include "preload/heap/recorder.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int auger_heap_attach(const struct heap_attach *options);
EXPORT int auger_heap_detach(void);

int auger_heap_attach(const struct heap_attach *options)
{
	int rc = recorder.is_on ? -EALREADY : 0;

	if (rc == 0 && !got_find_real(hooks, HOOKS))
		rc = -ELIBACC;
	if (rc == 0)
		rc = recorder_attach(options);
	if (rc < 0)
		return rc;
	got_patch();
	recorder_mark_attached();
	return 0;
}

/* First of all no more calls come. */
int auger_heap_detach(void)
{
	if (!recorder.is_attached)
		return -EINVAL;
	got_restore();
	return recorder_detach();
}
