/* SPDX-License-Identifier: MIT */
#include "ctlfs/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define MAX_BYTES ((size_t)128 << 10)

void journal_fini(struct journal *j)
{
	buf_fini(&j->text);
}

static void put_time(char *out, size_t len)
{
	int64_t now = clock_mono_ns();

	snprintf(out, len, "[%7lld.%09lld]", (long long)(now / NS_PER_S),
		 (long long)(now % NS_PER_S));
}

/* Drops the older half, by whole lines. */
static void make_room(struct journal *j)
{
	struct buf *text = &j->text;
	const char *end;
	size_t cut;

	if (buf_error(text) < 0)
		buf_clear(text); /* the lines are lost; the next ones may fit */
	if (text->len < MAX_BYTES)
		return;
	end = memchr(text->data + MAX_BYTES / 2, '\n', text->len - MAX_BYTES / 2);
	cut = end ? (size_t)(end - text->data) + 1 : text->len;
	memmove(text->data, text->data + cut, text->len - cut);
	text->len -= cut;
}

void journal_add(struct journal *j, const char *fmt, ...)
{
	char words[768], time[32];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof words, fmt, args);
	va_end(args);
	err_clean(words);
	put_time(time, sizeof time);
	make_room(j);
	buf_printf(&j->text, "%s %s\n", time, words);
	if (j->console)
		j->console(words);
}

void journal_refuse(struct journal *j, const char *file, const char *command, size_t len, size_t at,
		    const struct err *e)
{
	struct refusal *r = &j->errors[j->error_count++ % JOURNAL_ERRORS];

	*r = (struct refusal){ .at = at };
	put_time(r->time, sizeof r->time);
	snprintf(r->file, sizeof r->file, "%s", file);
	snprintf(r->command, sizeof r->command, "%.*s", (int)(len < 255 ? len : 255), command);
	snprintf(r->reason, sizeof r->reason, "%s", e->msg);
	err_clean(r->command);
	snprintf(j->last, sizeof j->last, "%s: %s", r->command, r->reason);
	journal_add(j, "%s: %s", file, j->last);
}

void journal_accept(struct journal *j)
{
	j->last[0] = '\0';
}

void journal_put_last(const struct journal *j, struct buf *out)
{
	buf_printf(out, "%s\n", j->last[0] ? j->last : "ok");
}

void journal_put_errors(const struct journal *j, struct buf *out)
{
	size_t first = j->error_count > JOURNAL_ERRORS ? j->error_count - JOURNAL_ERRORS : 0;

	for (size_t i = first; i < j->error_count; i++) {
		const struct refusal *r = &j->errors[i % JOURNAL_ERRORS];
		size_t at = r->at < strlen(r->command) ? r->at : strlen(r->command);

		buf_printf(out, "%s %s: error: %s\n  Command: %s\n           %*s^\n", r->time,
			   r->file, r->reason, r->command, (int)at, "");
	}
}

void journal_clear_errors(struct journal *j)
{
	j->error_count = 0;
}
