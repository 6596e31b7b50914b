/* SPDX-License-Identifier: MIT */
/*
 * debugfile: finds the separate debug file of a stripped binary.
 *
 * It searches by build id (DIR/.build-id/ab/cdef.debug), then by the name in .gnu_debuglink:
 * beside the binary, in .debug/ beside it, and in DIR/<folder of the binary>. DIR is
 * /usr/lib/debug by default, first below the root that the binary was seen through (a container),
 * then below our own. A file fits if its build id is that of the binary or, where one of them has
 * none, if its CRC is the one of the link. Last of all a server is asked by build id
 * (debuginfod.h), if the user named one.
 *
 * Source: GDB manual, "Debugging Information in Separate Files"; DWZ's .gnu_debugaltlink.
 */
#ifndef SYMBOL_ELF_DEBUGFILE_H
#define SYMBOL_ELF_DEBUGFILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/elf_image.h"

struct debug_search {
	const char *path;      /* of the binary as its own process named it; "" unknown */
	const char *root;      /* what to put before it to open it here: "", "/proc/12/root" */
	const char *debug_dir; /* "/usr/lib/debug" */
};

/* false: there is none. *ret is closed with elf_image_close; its path is put into ret_path: ""
 * for one from a server. */
bool debugfile_open(const struct elf_image *binary, const struct debug_search *s,
		    struct elf_image *ret, struct buf *ret_path);

/* By build id alone, lower-case hex: for a deleted binary. */
bool debugfile_open_id(const char *build_id, const struct debug_search *s, struct elf_image *ret,
		       struct buf *ret_path);

/* The supplementary file that several debug files share (dwz -m), named by one of them, which
 * was opened from path; s->path is not used. */
bool debugfile_open_alt(const struct elf_image *debug, const char *path,
			const struct debug_search *s, struct elf_image *ret);

#endif
