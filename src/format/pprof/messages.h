/* SPDX-License-Identifier: MIT */
/*
 * pprof_messages: rows of a profile as messages of profile.proto, appended to a buf.
 *
 * Ids and string ids in the structs are those of the file.
 */
#ifndef FORMAT_PPROF_MESSAGES_H
#define FORMAT_PPROF_MESSAGES_H

#include <stdint.h>

#include "base/buf.h"
#include "model/profile.h"

void pprof_put_type(struct buf *b, const struct value_type *type);
void pprof_put_mapping(struct buf *b, uint32_t id, const struct mapping *m);
void pprof_put_function(struct buf *b, uint32_t id, const struct function *fn);
void pprof_put_label(struct buf *b, const struct label *l);
void pprof_put_line(struct buf *b, const struct line *line);

#endif
