/* SPDX-License-Identifier: MIT */
/* path: the parts of a file's path. Nothing is copied and no file is touched. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* What follows the last '/'; the whole path when it has none or ends with one. Borrowed. */
const char *path_base(const char *path);

/* Bytes of the folder's part with its '/': 5 of "/bin/ls", 0 of "ls". */
size_t path_folder_len(const char *path);

/* Files in which a runtime names code that it makes: "/tmp/perf-12.map" and "jit-12.dump". */
bool path_is_perf_map(const char *path);
bool path_is_jitdump(const char *path);

#endif
