/* SPDX-License-Identifier: MIT */
#include "base/fifo.h"

#include <stddef.h>

void fifo_put(struct fifo *f, struct fifo_link *link)
{
	link->next = NULL;
	if (f->first)
		f->last->next = link;
	else
		f->first = link;
	f->last = link;
}

struct fifo_link *fifo_take(struct fifo *f)
{
	struct fifo_link *link = f->first;

	if (link)
		f->first = link->next;
	return link;
}
