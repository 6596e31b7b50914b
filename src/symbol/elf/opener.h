/* SPDX-License-Identifier: MIT */
/*
 * opener: opens the files that names are read from.
 *
 * In the naming process, which can open nothing, it requests a descriptor from its parent instead.
 */
#ifndef SYMBOL_ELF_OPENER_H
#define SYMBOL_ELF_OPENER_H

#include "base/elf_image.h"
#include "base/err.h"
#include "base/macros.h"

enum opener_kind {
	OPENER_ELF,
	OPENER_TEXT,     /* a regular file, else -EINVAL */
	OPENER_OWN_TEXT, /* and of this user or root (-EPERM), and no link (-ELOOP) */
	OPENER_BUILD_ID, /* the debug file that a server has for this build id (debuginfod.h) */
	OPENER_KINDS,
};

/* A descriptor, or -errno with the reason, which names the path. A FIFO does not block. */
typedef int opener(const char *path, enum opener_kind kind, struct err *e);

opener opener_open_here; /* open(2), or a request to a server */
opener opener_open;      /* what opener_set() chose; else opener_open_here */

/* For all threads; before any of them opens something. */
void opener_set(opener *f);

/* As elf_image_open(). kind: OPENER_ELF or OPENER_BUILD_ID. */
int opener_open_image(const char *path, enum opener_kind kind, struct elf_image *ret,
		      struct err *e) MUST_CHECK;

#endif
