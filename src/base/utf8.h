/* SPDX-License-Identifier: MIT */
/*
 * utf8: makes untrusted text safe to show.
 *
 * Names of functions, files and programs are bytes that others chose. Invalid UTF-8 (RFC 3629),
 * and characters that move the cursor or change the colors or the direction of a terminal, are
 * written as text: "\xNN" for a byte, "\uNNNN" for a character.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define UTF8_BAD (-1)

/* The character at text, [0..len), len > 0. *ret_len: its bytes. UTF8_BAD: the first byte
 * starts none (overlong, surrogate, cut short, over U+10FFFF); *ret_len is then 1. */
int32_t utf8_decode(const char *text, size_t len, size_t *ret_len);

/* Appends a character as bytes; what is none (surrogate, over U+10FFFF) as U+FFFD. */
void utf8_put(struct buf *out, int32_t character);

/* Does it move the cursor, or change colors or the direction of a terminal's text? C0, DEL, C1,
 * line and paragraph separators, marks of direction. */
bool utf8_is_control(int32_t character);

/* Columns of a terminal that a character takes: 0 (combining), 1, or 2 (East Asian wide). */
unsigned utf8_width(int32_t character);

/* Columns of a text that utf8_put_visible() wrote. */
size_t utf8_text_width(const char *text, size_t len);

/* Bytes of the longest start of a text that fits into this many columns. */
size_t utf8_fit(const char *text, size_t len, size_t columns);

/* Appends the text on one line: no controls, no bad bytes, no change of direction. */
void utf8_put_visible(struct buf *out, const char *text, size_t len);

/* Bytes of the longest start that is UTF-8 without a NUL: len when all of it is. */
size_t utf8_clean_len(const char *text, size_t len);

/* Appends the text as it is, but for bad bytes and NULs. */
void utf8_put_clean(struct buf *out, const char *text, size_t len);

/* Appends the text as it is, but for bad bytes and controls that are no tab and no line end. */
void utf8_put_valid(struct buf *out, const char *text, size_t len);

#endif
