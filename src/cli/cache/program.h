/* SPDX-License-Identifier: MIT */
/* cache_program: which files are run when a command is: its program, and what runs a script. */
#ifndef CLI_CACHE_PROGRAM_H
#define CLI_CACHE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* The file that execvp would run for name, by our own PATH and working folder; absolute. False:
 * there is none. */
bool cache_program_find(const char *name, char ret[PATH_MAX]);

/* The first line of a script. Source: execve(2), "Interpreter scripts". */
struct cache_script {
	char interpreter[256];
	char argument[256]; /* "": none */
};
/* False: it is none, or cannot be read. */
bool cache_program_is_script(const char *path, struct cache_script *ret);

#endif
