/* SPDX-License-Identifier: MIT */
#include "format/json_frames.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define LOOK_BYTES 65536 /* the keys of a file are near its start */

int json_frames_begin(const unsigned char *data, size_t len, struct buf *copy, struct json *ret,
		      struct err *e)
{
	const char *text = (const char *)data;

	if (!len || text[len - 1] != '\n') {
		buf_put(copy, data, len);
		buf_put_byte(copy, '\n');
		if (buf_error(copy) < 0)
			return err_nomem(e);
		text = copy->data;
		len = copy->len;
	}
	*ret = json_begin(text, len - 1);
	return 0;
}

int json_frames_error(const struct json *j, struct err *e)
{
	return err_set(e, -EINVAL, "byte %td: the JSON %s", j->at - j->start,
		       j->wrong ? j->wrong : "goes on behind its end");
}

uint32_t json_frames_str(struct profile *p, struct json_text text, struct buf *scratch)
{
	if (!text.has_escapes)
		return text.len ? profile_str_n(p, text.ptr, text.len) : 0;
	buf_clear(scratch);
	json_unescape(text, scratch);
	if (buf_error(scratch) < 0) {
		profile_fail_nomem(p);
		return 0;
	}
	return profile_str_n(p, scratch->data, scratch->len);
}

uint32_t json_frames_location(struct profile *p, const struct json_frame *f, struct buf *scratch)
{
	uint32_t name = json_frames_str(p, f->name, scratch);
	struct function function = { .name = name ? name : profile_str(p, "(anonymous)"),
				     .file = json_frames_str(p, f->file, scratch) };
	struct line line = { .line = function.file && f->line > 0 ? f->line : 0 };
	struct location location = { .lines = &line, .line_count = 1 };

	function.system_name = function.name;
	function.start_line = line.line;
	line.function = profile_add_function(p, &function);
	return line.function ? profile_add_location(p, &location) : 0;
}

static struct json_text without_scheme(struct json_text url)
{
	static const char scheme[] = "file://";
	size_t len = sizeof scheme - 1;

	if (url.len > len && memcmp(url.ptr, scheme, len) == 0) {
		url.ptr += len;
		url.len -= len;
	}
	return url;
}

uint32_t json_frames_call(struct profile *p, struct json *j, struct buf *scratch)
{
	struct json_list o = json_object(j);
	struct json_frame frame = { 0 };
	struct json_text key;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "functionName")) {
			frame.name = json_string(j);
		} else if (json_equals(&key, "url")) {
			frame.file = without_scheme(json_string(j));
		} else if (json_equals(&key, "lineNumber")) {
			if (!json_scale(json_number(j), 0, &frame.line) || frame.line > INT32_MAX)
				frame.line = -1;
			frame.line++;
		} else {
			json_skip(j);
		}
	}
	return json_equals(&frame.name, "(root)") ? 0 : json_frames_location(p, &frame, scratch);
}

uint32_t json_frames_index(struct json *j)
{
	int64_t value;

	return json_scale(json_number(j), 0, &value) && value >= 0 && value < UINT32_MAX
		       ? (uint32_t)value
		       : UINT32_MAX;
}

bool json_frames_has(const unsigned char *data, size_t len, const char *word)
{
	return memmem(data, len < LOOK_BYTES ? len : LOOK_BYTES, word, strlen(word)) != NULL;
}

bool json_frames_is_object(const unsigned char *data, size_t len)
{
	while (len && str_is_blank((char)*data)) {
		data++;
		len--;
	}
	return len && *data == '{';
}
