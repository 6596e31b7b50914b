/* SPDX-License-Identifier: MIT */
/* OLD's path in arguments and environment: only a note, because the process may open that path
 * later. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "relocate/inventory/scan_internal.h"

#define WORDS_MAX (16 << 20) /* bytes */

/* "/x/old" in "/x/old/data" and "PATH=/x/old:/bin", not in "/x/old2". */
static bool has_path(const struct buf *text, const char *path)
{
	size_t len = strlen(path);
	const char *at = text->data, *end = text->data + text->len;

	while (at && (at = memmem(at, (size_t)(end - at), path, len))) {
		at += len;
		if (at == end || !*at || strchr("/:;, \"'\n", *at))
			return true;
	}
	return false;
}

void scan_environ(struct scan *sc, uint32_t proc)
{
	static const char *const files[][2] = {
		{ "cmdline", "arguments" },
		{ "environ", "environment" },
	};
	const struct top_dir *old = sc->opts->old_dir;
	pid_t pid = ((struct reloc_proc *)sc->procs.data)[proc].pid;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct err e = { 0 };
		char path[PROC_PATH];

		snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, files[i][0]);
		buf_clear(&sc->text);
		if (file_read_small(path, WORDS_MAX, &sc->text, &e) == 0 &&
		    has_path(&sc->text, old->path))
			scan_add_obstacle(sc, RELOC_NOTE, proc, files[i][1], old->path,
					  "the process may open this path later",
					  "--swap mounts NEW at the path of OLD");
	}
}
