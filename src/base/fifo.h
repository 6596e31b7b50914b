/* SPDX-License-Identifier: MIT */
/*
 * fifo: an intrusive queue, first in, first out.
 *
 * It owns nothing and allocates nothing. The link is the first member of an entry, so a taken link
 * is cast to the entry.
 */
#ifndef BASE_FIFO_H
#define BASE_FIFO_H

struct fifo_link {
	struct fifo_link *next; /* NULL: the last one */
};

/* All zero is empty. */
struct fifo {
	struct fifo_link *first; /* NULL: empty */
	struct fifo_link *last;  /* undefined when empty */
};

void fifo_put(struct fifo *f, struct fifo_link *link);
struct fifo_link *fifo_take(struct fifo *f); /* NULL: empty */

#endif
