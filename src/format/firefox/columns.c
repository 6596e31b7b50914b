/* SPDX-License-Identifier: MIT */
#include "format/firefox/columns.h"

#include <string.h>

#include "base/number.h"

struct table {
	const char *const *names;
	size_t count;
	struct rows *rows;
	uint32_t places[COLUMNS_MAX]; /* gecko: of each name in a row */
	struct json data;             /* gecko */
	bool has_data;
	bool is_out_of_memory;
};

static const struct columns_row nothing = { { COLUMNS_NONE, COLUMNS_NONE, COLUMNS_NONE,
					      COLUMNS_NONE, COLUMNS_NONE } };

struct columns_row columns_get(const struct rows *rows, uint32_t index)
{
	return index < rows->count ? ((const struct columns_row *)rows->data)[index] : nothing;
}

static struct columns_row *row_at(struct table *t, size_t index)
{
	struct columns_row *row;

	if (index < t->rows->count)
		return (struct columns_row *)t->rows->data + index;
	row = rows_add(t->rows, sizeof *row);
	if (row)
		*row = nothing;
	else
		t->is_out_of_memory = true;
	return row;
}

static uint32_t take_cell(struct json *j)
{
	char first = json_peek(j);
	int64_t value = -1;

	if (number_is_digit(first))
		(void)json_scale(json_number(j), 0, &value);
	else
		json_skip(j);
	return value >= 0 && value < COLUMNS_NONE ? (uint32_t)value : COLUMNS_NONE;
}

static size_t find_name(const struct table *t, const struct json_text *key)
{
	size_t i = 0;

	while (i < t->count && !json_equals(key, t->names[i]))
		i++;
	return i;
}

static void read_column(struct table *t, struct json *j, size_t column)
{
	struct json_list a = json_array(j);

	for (size_t i = 0; !t->is_out_of_memory && json_item(j, &a); i++) {
		uint32_t cell = take_cell(j);
		struct columns_row *row = row_at(t, i);

		if (row)
			row->cells[column] = cell;
	}
}

static void read_schema(struct table *t, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		size_t column = find_name(t, &key);
		uint32_t place = take_cell(j);

		if (column < t->count)
			t->places[column] = place;
	}
}

static void read_row(struct table *t, struct json *j)
{
	struct columns_row row = nothing, *added;
	struct json_list a = json_array(j);

	for (uint32_t i = 0; json_item(j, &a); i++) {
		uint32_t cell = take_cell(j);

		for (size_t column = 0; column < t->count; column++)
			if (t->places[column] == i)
				row.cells[column] = cell;
	}
	added = row_at(t, t->rows->count);
	if (added)
		*added = row;
}

static void read_data(struct table *t)
{
	struct json_list a = json_array(&t->data);

	while (!t->is_out_of_memory && json_item(&t->data, &a)) {
		if (json_peek(&t->data) == '[')
			read_row(t, &t->data);
		else
			json_skip(&t->data);
	}
}

int columns_read(struct json at, const char *const *names, size_t count, struct rows *ret,
		 struct err *e)
{
	struct table t = { .names = names, .count = count, .rows = ret };
	struct json_list o = json_object(&at);
	struct json_text key;

	memcpy(t.places, nothing.cells, sizeof t.places);
	while (!t.is_out_of_memory && json_member(&at, &o, &key)) {
		size_t column = find_name(&t, &key);
		char first = json_peek(&at);

		if (column < count && first == '[') {
			read_column(&t, &at, column);
		} else if (json_equals(&key, "schema") && first == '{') {
			read_schema(&t, &at);
		} else if (json_equals(&key, "data") && first == '[') {
			t.data = at;
			t.has_data = true;
			json_skip(&at);
		} else {
			json_skip(&at);
		}
	}
	if (t.has_data)
		read_data(&t);
	return t.is_out_of_memory ? err_nomem(e) : 0;
}
