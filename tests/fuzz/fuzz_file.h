/* SPDX-License-Identifier: MIT */
/* fuzz_file: an input for targets that open theirs by name. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "fuzz.h"

/* The path of a file in memory with these bytes, until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	FUZZ_CHECK(file_write_all(fd, data, size) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return path;
}

#endif
