/* SPDX-License-Identifier: MIT */
/*
 * image: a copy of the heap file of one process (wire/heap.h), checked.
 *
 * The process may be alive and write on, or have ended at any instruction; it may be
 * hostile. The file is copied by bounded reads, never mapped. In the copy each number refers to
 * something that is there. Counters of a living process may be some events apart from each other.
 */
#ifndef HEAP_IMAGE_H
#define HEAP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "wire/heap.h"

struct heap_image {
	struct heap_header head;
	struct heap_mapping *mappings; /* [head.mapping_count]; owned, as what follows */
	struct heap_node *nodes;       /* [head.node_count]; parents have smaller numbers */
	struct heap_site *sites;       /* [head.site_count] */
	char *strings;                 /* [head.string_bytes], a NUL behind */
};

/* fd: open for reading. name: for messages. -EINVAL with the reason: no complete heap file;
 * -ENODATA: its process was killed before it began. */
int heap_image_read(int fd, const char *name, struct heap_image *ret, struct err *e) MUST_CHECK;
void heap_image_fini(struct heap_image *h); /* all zero is allowed */

/* Of less than HEAP_PATH_MAX bytes; "": there is none. Borrowed. */
const char *heap_image_string(const struct heap_image *h, uint32_t string);

#endif
