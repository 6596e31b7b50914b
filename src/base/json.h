/* SPDX-License-Identifier: MIT */
/* json: strings for JSON documents. Source: RFC 8259, section 7. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

/*
 * Appends the text in quotes. Every text is allowed, and what comes out is valid UTF-8:
 * bytes that are no UTF-8 become the four characters \xNN, as they are shown in tables.
 */
void json_put_str(struct buf *out, const char *text, size_t len);

#endif
