/* SPDX-License-Identifier: MIT */
/*
 * names: interns the names of all stages of the process. They are never freed; at most NAMES_MAX.
 *
 * Thread-safe.
 */
#ifndef STAGE_NAMES_H
#define STAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_MAX 65536
#define NAMES_RESERVED 16384 /* of them for names in the source (AUGER_STAGE), which are few */
#define NAME_LEN_MAX 255

enum { NAME_NONE, NAME_OTHER, NAME_FIRST };

struct name {
	const char *text; /* [0..len), any bytes */
	size_t len;
};

/*
 * Returns NAME_OTHER when the table is full. Text longer than NAME_LEN_MAX is cut. text may be NULL
 * if len is 0. is_static: a name in the source, which may use the reserved entries.
 */
uint32_t names_intern(const char *text, size_t len, bool is_static);
struct name names_get(uint32_t id);

/* Around a fork(). */
void names_lock(void);
void names_unlock(void);

#endif
