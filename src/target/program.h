/* SPDX-License-Identifier: MIT */
/* program: which files are run when a command is: its program, and what runs a script. */
#ifndef TARGET_PROGRAM_H
#define TARGET_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"

/* The file that execvp would run for name, by our own PATH and working folder; absolute. False:
 * there is none. */
bool program_find(const char *name, char ret[PATH_MAX]);

/* Can execvp run it? 0, -ENOENT, or -EACCES: it is there, but no program. */
int program_check(const char *name, struct err *e) MUST_CHECK;

/* The first line of a script. Source: execve(2), "Interpreter scripts". */
struct script {
	char interpreter[256];
	char argument[256]; /* "": none */
};
/* False: it is none, or cannot be read. */
bool program_is_script(const char *path, struct script *ret);

#endif
