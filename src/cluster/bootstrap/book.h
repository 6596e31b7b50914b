/* SPDX-License-Identifier: MIT */
/* book: the text of a rank's file in an address book. */
#ifndef CLUSTER_BOOTSTRAP_BOOK_H
#define CLUSTER_BOOTSTRAP_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "cluster/bootstrap/way.h"

/* text: printable, without blanks, shorter than BOOTSTRAP_TEXT. */
void book_print(struct buf *b, uint32_t size, const char *text);

/* false: it is no such file. ret ends with a NUL. */
bool book_parse(struct str file, uint32_t *ret_size, char ret[BOOTSTRAP_TEXT]);

#endif
