/* SPDX-License-Identifier: MIT */
/*
 * names: the texts of all stages of the process, by number. Never freed; at most NAMES_MAX.
 *
 * Threads may call at once.
 */
#ifndef STAGE_NAMES_H
#define STAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_MAX 65536
#define NAMES_KEPT 16384 /* of them for names of places of the program */
#define NAME_LEN_MAX 255

enum { NAME_NONE, NAME_OTHER, NAME_FIRST };

struct name {
	const char *text; /* [0..len), any bytes */
	size_t len;
};

/*
 * NAME_OTHER when there is no room. A longer text is cut. text may be NULL if len is 0. Texts that
 * are made at run time do not get the last of the room: is_kept.
 */
uint32_t names_intern(const char *text, size_t len, bool is_kept);
struct name names_get(uint32_t id);

/* Around a fork(). */
void names_lock(void);
void names_unlock(void);

#endif
