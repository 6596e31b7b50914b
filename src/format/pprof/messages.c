/* SPDX-License-Identifier: MIT */
#include "format/pprof/messages.h"

#include "format/pprof/fields.h"
#include "format/pprof/proto.h"

void pprof_put_type(struct buf *b, const struct value_type *type)
{
	proto_put_number(b, VALUE_TYPE_TYPE, type->type);
	proto_put_number(b, VALUE_TYPE_UNIT, type->unit);
}

void pprof_put_mapping(struct buf *b, uint32_t id, const struct mapping *m)
{
	proto_put_number(b, MAPPING_ID, id);
	proto_put_number(b, MAPPING_START, m->start);
	proto_put_number(b, MAPPING_LIMIT, m->limit);
	proto_put_number(b, MAPPING_OFFSET, m->offset);
	proto_put_number(b, MAPPING_FILENAME, m->path);
	proto_put_number(b, MAPPING_BUILD_ID, m->build_id);
	proto_put_number(b, MAPPING_HAS_FUNCTIONS, m->has_functions);
	proto_put_number(b, MAPPING_HAS_FILENAMES, m->has_filenames);
	proto_put_number(b, MAPPING_HAS_LINE_NUMBERS, m->has_line_numbers);
	proto_put_number(b, MAPPING_HAS_INLINE_FRAMES, m->has_inline_frames);
}

void pprof_put_function(struct buf *b, uint32_t id, const struct function *fn)
{
	proto_put_number(b, FUNCTION_ID, id);
	proto_put_number(b, FUNCTION_NAME, fn->name);
	proto_put_number(b, FUNCTION_SYSTEM_NAME, fn->system_name);
	proto_put_number(b, FUNCTION_FILENAME, fn->file);
	proto_put_number(b, FUNCTION_START_LINE, (uint64_t)fn->start_line);
}

void pprof_put_label(struct buf *b, const struct label *l)
{
	proto_put_number(b, LABEL_KEY, l->key);
	proto_put_number(b, LABEL_STR, l->str);
	proto_put_number(b, LABEL_NUM, (uint64_t)l->num);
	proto_put_number(b, LABEL_NUM_UNIT, l->unit);
}

void pprof_put_line(struct buf *b, const struct line *line)
{
	proto_put_number(b, LINE_FUNCTION_ID, line->function);
	proto_put_number(b, LINE_LINE, (uint64_t)line->line);
}
