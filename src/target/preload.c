/* SPDX-License-Identifier: MIT */
#include "target/preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

/* Beside the binary in the build tree; else where libraries are installed, seen from bin. */
bool preload_find(const char *name, char ret[PATH_MAX])
{
	static const char *const places[] = { "preload", "preload/heap", AUGER_LIBDIR "/auger",
					      "lib/auger" };
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (len < 0)
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		bool is_absolute = places[i][0] == '/';

		if (snprintf(ret, PATH_MAX, "%s%s%s/%s", is_absolute ? "" : self,
			     is_absolute ? "" : "/../", places[i], name) < PATH_MAX &&
		    access(ret, R_OK) == 0)
			return !strpbrk(ret, " :");
	}
	return false;
}

int preload_set(const char *path)
{
	CLEANUP(buf_fini) struct buf value = { 0 };
	const char *before = getenv("LD_PRELOAD");

	buf_printf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "");
	if (buf_error(&value) < 0 || setenv("LD_PRELOAD", value.data, 1) < 0)
		return -ENOMEM;
	return 0;
}
