/* SPDX-License-Identifier: MIT */
/*
 * markdown: escapes untrusted text for Markdown tables and lists. Source: GitHub Flavored
 * Markdown, 4.10 and 6.1.
 */
#ifndef VIEW_MARKDOWN_H
#define VIEW_MARKDOWN_H

#include <stddef.h>

#include "base/buf.h"

/* Appends the text as code, on one line and without controls; it neither ends a cell of a table
 * nor the code, whatever it is. "" is a blank between the marks. */
void markdown_put_code(struct buf *out, const char *text, size_t len);

#endif
