/* SPDX-License-Identifier: MIT */
/*
 * quote: quotes text for JSON, CSV and shells.
 *
 * Every text is allowed. JSON comes out as valid UTF-8: an invalid byte is written as the four
 * characters \xNN, as in tables.
 */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <stdbool.h>

#include "base/buf.h"

/* A string of JSON. Source: RFC 8259, section 7. */
void quote_json(struct buf *out, const char *text, size_t len);

/* A cell of CSV in quotes; the bytes stay as they are, but a formula gets a "'" in front, so that a
 * spreadsheet takes it as text. Source: RFC 4180; OWASP, CSV Injection. */
void quote_csv(struct buf *out, const char *text, size_t len);

/* Would a spreadsheet compute a cell with this text? */
bool quote_is_formula(const char *text, size_t len);

/* One word of sh in quotes. Source: POSIX, Shell Command Language 2.2. */
void quote_shell(struct buf *out, const char *text, size_t len);

/* The same, without quotes where sh needs none. */
void quote_argument(struct buf *out, const char *arg);

/*
 * Replaces \NNN, three octal digits, by their byte, in place; returns the new length and ends the
 * text with a NUL. The kernel writes blanks, tabs, newlines and backslashes so.
 * Source: proc(5), /proc/PID/mountinfo.
 */
size_t quote_undo_octal(char *text);

#endif
