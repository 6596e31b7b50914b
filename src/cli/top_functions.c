/* SPDX-License-Identifier: MIT */
#include "cli/top_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "model/units.h"
#include "view/flat.h"
#include "view/shorten.h"

#define NAME_COLUMNS 60 /* that a function takes at most */
#define VALUE_COLUMNS 10

void top_functions_put_name(struct buf *out, const char *name, size_t columns)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };

	utf8_put_visible(&visible, name, strlen(name));
	if (buf_error(&visible) < 0)
		out->bad = true;
	else if (utf8_text_width(visible.data, visible.len) <= columns)
		buf_put(out, visible.data, visible.len);
	else if (!shorten_name(out, visible.data, visible.len, columns, ".."))
		buf_put(out, visible.data, utf8_fit(visible.data, visible.len, columns));
}

static void put_value(struct buf *out, const struct profile *p, size_t type, int64_t value)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	units_put(&text, value, profile_text(p, profile_get_type(p, type).unit));
	if (buf_error(&text) < 0)
		out->bad = true;
	else
		buf_printf(out, "%*s  ", VALUE_COLUMNS, text.data);
}

int top_functions_put(struct buf *out, const struct profile *p, size_t type, size_t limit,
		      bool has_value, struct err *e)
{
	struct flat flat;
	uint32_t *rows = NULL;
	size_t count = 0;
	int rc = flat_init(&flat, p, FRAME_BY_FUNCTION, type, -1, e);

	if (rc < 0)
		return rc;
	rc = flat_sorted(&flat, FLAT_BY_SELF, &rows, &count, e);
	for (size_t i = 0; i < count && i < limit; i++) {
		const struct flat_row *row = &flat.rows[rows[i]];
		const char *module = flat_module(&flat, rows[i]);

		if (row->self == 0)
			break;
		buf_printf(out, "  %5.1f %%  ",
			   100 * (double)row->self / (double)flat.rows[FLAT_ROOT].total);
		if (has_value)
			put_value(out, p, type, row->self);
		top_functions_put_name(out, flat_name(&flat, rows[i]), NAME_COLUMNS);
		if (module[0]) {
			buf_put_str(out, "  ");
			utf8_put_visible(out, module, strlen(module));
		}
		buf_put_byte(out, '\n');
	}
	free(rows);
	flat_fini(&flat);
	return rc;
}
