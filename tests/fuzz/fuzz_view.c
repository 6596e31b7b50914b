/* SPDX-License-Identifier: MIT */
/*
 * Any file of a format that is recognized, behind a byte that chooses how it is shown: a picture is
 * well-formed XML, a report is JSON, or a table without characters that a terminal obeys.
 */
#include <string.h>

#include "base/buf.h"
#include "base/json_read.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "format/formats.h"
#include "fuzz.h"
#include "view/flame/flame.h"
#include "view/report.h"

enum { SHOWS_FLAME, SHOWS_FLAT, SHOWS_TREE, SHOWS_LABELS };

/* Valid UTF-8, of which only line ends are controls. */
static void check_characters(const struct buf *text)
{
	size_t step;

	for (size_t at = 0; at < text->len; at += step) {
		int32_t c = utf8_decode(text->data + at, text->len - at, &step);

		FUZZ_CHECK(c == '\n' || c == '\t' || (c >= ' ' && (c < 0x7f || c > 0x9f)));
		FUZZ_CHECK(c != 0xfffe && c != 0xffff);
	}
}

static bool starts(const char *at, const char *word)
{
	return strncmp(at, word, strlen(word)) == 0;
}

static const char *behind(const char *at, const char *word)
{
	at = strstr(at, word);
	FUZZ_CHECK(at);
	return at + strlen(word);
}

static const char *skip_entity(const char *at)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#" };
	size_t i = 0;

	while (i < ARRAY_LEN(known) && !starts(at, known[i]))
		i++;
	FUZZ_CHECK(i < ARRAY_LEN(known));
	return at + strlen(known[i]);
}

static const char *skip_tag(const char *at)
{
	char quote = '\0';

	for (at++; quote || *at != '>'; at++) {
		FUZZ_CHECK(*at && *at != '<');
		if (*at == '&')
			skip_entity(at);
		if (quote ? *at == quote : *at == '"' || *at == '\'')
			quote = quote ? '\0' : *at;
	}
	return at + 1;
}

static void check_xml(const char *at)
{
	long depth = 0;

	while (*at) {
		if (*at == '&') {
			at = skip_entity(at);
		} else if (*at != '<') {
			at++;
		} else if (starts(at, "<!--")) {
			at = behind(at, "-->");
		} else if (starts(at, "<![CDATA[")) {
			at = behind(at, "]]>");
		} else if (starts(at, "<?") || starts(at, "<!")) {
			at = behind(at, ">");
		} else {
			bool ends = at[1] == '/';

			at = skip_tag(at);
			depth += ends ? -1 : at[-2] != '/';
			FUZZ_CHECK(depth >= 0);
		}
	}
	FUZZ_CHECK(depth == 0);
}

static void check_flame(const struct profile *p, unsigned choice)
{
	CLEANUP(buf_fini) struct buf svg = { 0 };
	const struct flame_opts o = {
		.type = profile_default_type(p),
		.width = 1200,
		.min_percent = choice & 1 ? 0.1 : 0,
		.is_icicle = choice & 2,
		.is_reversed = choice & 4,
		.other = choice & 8 ? p : NULL,
	};
	struct flame_stats stats = { 0 };
	struct err e;

	if (flame_write(p, &o, &svg, &stats, &e) == 0) {
		check_characters(&svg);
		check_xml(svg.data);
	}
	buf_fini(&stats.missing);
}

static int put_report(struct emit *out, const struct profile *p, unsigned shown, unsigned choice,
		      struct err *e)
{
	const struct report_opts o = {
		.file = "input",
		.type = profile_default_type(p),
		.limit = choice & 2 ? 3 : 0,
		.facts = report_facts(p, profile_default_type(p)),
	};
	enum frame_by by = (choice >> 2) % (FRAME_BY_NAME_OR_ADDRESS + 1);

	if (shown == SHOWS_FLAT)
		return report_flat(out, p, &o, by, e);
	if (shown == SHOWS_TREE)
		return report_tree(out, p, &o, by, 0, e);
	return report_labels(out, p, &o, choice & 4 ? "thread" : "comm", e);
}

static void check_report(const struct profile *p, unsigned shown, unsigned choice)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	const struct emit_opts o = { .format = choice & 1 ? EMIT_JSON : EMIT_TABLE };
	struct emit out;
	struct json j;
	struct err e;
	int rc;

	emit_begin(&out, &o, &text);
	rc = put_report(&out, p, shown, choice, &e);
	FUZZ_CHECK(emit_end(&out) == 0);
	emit_fini(&out);
	if (rc < 0)
		return;
	if (o.format == EMIT_TABLE) {
		check_characters(&text);
		return;
	}
	j = json_begin(text.data, text.len);
	json_skip(&j);
	FUZZ_CHECK(json_end(&j));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format;
	struct profile *p = profile_new();
	struct err e;

	FUZZ_CHECK(p);
	format = size > 1 ? format_detect("input", data + 1, size - 1) : NULL;
	if (format && format->read && format->read(p, data + 1, size - 1, &e) == 0 &&
	    profile_type_count(p)) {
		if (data[0] % 4 == SHOWS_FLAME)
			check_flame(p, data[0] / 4);
		else
			check_report(p, data[0] % 4, data[0] / 4);
	}
	profile_free(p);
	return 0;
}
