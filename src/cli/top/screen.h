/* SPDX-License-Identifier: MIT */
/*
 * top_screen: a full-screen text on the terminal and its keys, by ncurses.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "view/top.h"

/* Takes over the terminal that is standard output; until close nothing else must write
 * there. -ENOTSUP: built without ncurses; -ENOTTY. */
int top_screen_open(struct err *e) MUST_CHECK;
void top_screen_close(void); /* also when not open */

size_t top_screen_width(void);
size_t top_screen_height(void);

/* The lines of text from the top; line chosen (from 0) is marked, -1: none. */
void top_screen_show(const struct buf *text, int chosen);
int top_screen_key(void); /* does not wait */

#endif
