/* SPDX-License-Identifier: MIT */
/* json_frames: what readers of JSON profiles share: the text, frames, weights. */
#ifndef FORMAT_JSON_FRAMES_H
#define FORMAT_JSON_FRAMES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/macros.h"
#include "model/profile.h"

/* Begins to read data, which is copied to copy where no blank ends it. -ENOMEM. */
int json_frames_begin(const unsigned char *data, size_t len, struct buf *copy, struct json *ret,
		      struct err *e) MUST_CHECK;

/* The error that j stopped at, with its position: -EINVAL. */
int json_frames_error(const struct json *j, struct err *e);

/* A frame as it is read; texts with escapes. line: of file; 0: unknown. */
struct json_frame {
	struct json_text name, file;
	int64_t line;
};

/* Its location, or 0: out of memory, which p remembers. scratch is overwritten. A frame without a
 * name is "(anonymous)". */
uint32_t json_frames_location(struct profile *p, const struct json_frame *f, struct buf *scratch);

/* Reads a Runtime.CallFrame of V8. 0: it is "(root)", or out of memory, which p remembers. */
uint32_t json_frames_call(struct profile *p, struct json *j, struct buf *scratch);

/* The text as a string of p. */
uint32_t json_frames_str(struct profile *p, struct json_text text, struct buf *scratch);

/* An integer number in range [0, UINT32_MAX); UINT32_MAX: it is none. */
uint32_t json_frames_index(struct json *j);

/* Does the start of data have this word, such as a key in its quotes? Looks at some KiB. */
bool json_frames_has(const unsigned char *data, size_t len, const char *word);
bool json_frames_is_object(const unsigned char *data, size_t len);

#endif
