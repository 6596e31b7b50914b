/* SPDX-License-Identifier: MIT */
/*
 * codes: the code objects of Python processes, as they were sent once each, and their locations in
 * the profile: function, file and line; the mapping is the script.
 */
#ifndef INTERP_CODES_H
#define INTERP_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "bpf/python.h"
#include "model/profile.h"

struct codes;

struct codes *codes_new(void) MUST_CHECK; /* NULL: out of memory */
void codes_free(struct codes *c);

/* The profile that gets the locations from now on; borrowed. */
void codes_use(struct codes *c, struct profile *p);

/*
 * A code object; bytes: a struct python_code, of which len bytes are there: anything. One with the
 * same id replaces the older. 0 or -ENOMEM.
 */
int codes_add(struct codes *c, const void *bytes, size_t len) MUST_CHECK;

/* The location of a frame; a code object that is not known is "[python]". 0: out of memory, which
 * the profile remembers. */
uint32_t codes_locate(struct codes *c, const struct python_frame *f);

size_t codes_count(const struct codes *c);

#endif
