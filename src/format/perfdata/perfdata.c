/* SPDX-License-Identifier: MIT */
#include "format/perfdata/perfdata.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "format/perfdata/env.h"
#include "format/perfdata/reader.h"
#include "perf/eventname.h"

#define PIPE_HEAD_BYTES 16
#define MAX_FEATURE_BYTES ((size_t)64 << 20)

/* A part of the file, [offset..offset+len). */
struct section {
	uint64_t offset, len;
};

struct head {
	uint64_t head_bytes, attr_bytes;
	struct section attrs, data;
	uint64_t features[PERFDATA_FEATURES / 64]; /* bits */
};

/* "PERFFILE" is of perf before 3.3; what "2ELIFREP" holds has the bytes of all numbers the
 * other way round. */
bool perfdata_detect(const unsigned char *data, size_t len)
{
	struct str start = { (const char *)data, len };

	return str_starts_with(start, "PERFILE2") || str_starts_with(start, "PERFFILE") ||
	       str_starts_with(start, "2ELIFREP") || str_starts_with(start, "ELIFFREP");
}

static struct section take_section(struct cursor *c)
{
	struct section s = { .offset = cursor_u64(c) };

	s.len = cursor_u64(c);
	return s;
}

static int read_head(const struct file_input *in, struct head *ret, struct err *e)
{
	struct cursor c = cursor_make(in->data, in->len);

	if (!perfdata_detect(in->data, in->len))
		return err_set(e, -EINVAL, "byte 0: not a file of perf record");
	if (in->data[0] != 'P')
		return err_set(e, -ENOTSUP,
			       "byte 0: recorded on a big-endian machine; 'perf script' there "
			       "makes a text that can be read");
	cursor_skip(&c, 8);
	ret->head_bytes = cursor_u64(&c);
	if (ret->head_bytes == PIPE_HEAD_BYTES)
		return 0;
	ret->attr_bytes = cursor_u64(&c);
	ret->attrs = take_section(&c);
	ret->data = take_section(&c);
	take_section(&c); /* event types, of old versions */
	for (size_t i = 0; i < ARRAY_LEN(ret->features); i++)
		ret->features[i] = cursor_u64(&c);
	if (c.bad)
		return err_set(e, -EINVAL, "byte %zu: the head ends too early", in->len);
	return 0;
}

/* A section as far as it is in the file. */
static struct cursor open_section(const struct file_input *in, struct section s)
{
	if (s.offset > in->len)
		s.offset = in->len;
	if (s.len > in->len - s.offset)
		s.len = in->len - s.offset;
	return cursor_make(in->data + s.offset, (size_t)s.len);
}

/* Each attr stands before the section with its ids. */
static int read_attrs(struct perfdata_env *env, const struct file_input *in, const struct head *h,
		      struct err *e)
{
	struct cursor c = open_section(in, h->attrs);
	size_t room = in->len; /* for ids: their sections do not overlap */
	uint32_t event = 0;

	if (h->attr_bytes <= sizeof(struct section) || h->attr_bytes > RECORD_MAX_BYTES)
		return err_set(e, -EINVAL, "byte 16: attributes of %" PRIu64 " bytes",
			       h->attr_bytes);
	while (cursor_left(&c) >= h->attr_bytes) {
		struct cursor attr = cursor_sub(&c, (size_t)h->attr_bytes - sizeof(struct section));
		struct section section = take_section(&c);
		struct cursor ids = open_section(in, section);

		if (cursor_left(&ids) > room)
			return err_set(e, -EINVAL,
				       "byte %" PRIu64 ": the events have more ids than the file",
				       section.offset);
		room -= cursor_left(&ids);
		if (perfdata_env_add_event(env, attr) < 0 ||
		    perfdata_env_add_ids(env, ids, event++) < 0)
			return err_nomem(e);
	}
	if (!event)
		return err_set(e, -EINVAL, "byte %" PRIu64 ": there is no event", h->attrs.offset);
	return 0;
}

/* Behind the data stands a table of sections, one for each bit that is set. */
static int read_features(struct perfdata_env *env, const struct file_input *in,
			 const struct head *h, struct err *e)
{
	struct cursor c;

	if (h->data.offset > in->len || h->data.len > in->len - h->data.offset)
		return 0;
	c = open_section(in, (struct section){ h->data.offset + h->data.len, in->len });
	for (unsigned i = 0; i < PERFDATA_FEATURES; i++) {
		struct section s;

		if (!(h->features[i / 64] >> i % 64 & 1))
			continue;
		s = take_section(&c);
		if (c.bad)
			break;
		if (s.len <= MAX_FEATURE_BYTES &&
		    perfdata_env_add_feature(env, i, open_section(in, s)) < 0)
			return err_nomem(e);
	}
	return 0;
}

/* The records: to the end of the file when perf could not finish it. */
static int read_data(struct perfdata_reader *r, const struct head *h, struct err *e)
{
	size_t len = r->in->len, to = len;

	if (h->head_bytes == PIPE_HEAD_BYTES)
		return perfdata_reader_run(r, PIPE_HEAD_BYTES, len, e);
	if (h->data.offset > len)
		return err_set(e, -EINVAL, "byte %zu: the file ends before its data", len);
	if (!h->data.len)
		log_msg(LOG_WARN, "perfdata",
			"perf did not finish this file: it may lack "
			"samples, and build ids");
	else if (h->data.len <= len - h->data.offset)
		to = (size_t)(h->data.offset + h->data.len);
	else
		log_msg(LOG_WARN, "perfdata",
			"the file is cut: %" PRIu64 " of %" PRIu64 " bytes of records are there",
			len - h->data.offset, h->data.len);
	return perfdata_reader_run(r, (size_t)h->data.offset, to, e);
}

static void add_comment(struct profile *p, struct buf *out)
{
	CLEANUP(buf_fini) struct buf line = { 0 };

	utf8_put_visible(&line, out->data ? out->data : "", out->len);
	if (buf_error(out) < 0 || buf_error(&line) < 0)
		profile_fail_nomem(p);
	else if (line.len)
		profile_add_comment(p, line.data);
	buf_clear(out);
}

static void put_events(const struct perfdata_env *env, struct buf *out)
{
	bool is_first = true;

	for (uint32_t i = 0; i < perfdata_env_event_count(env); i++) {
		const struct perfdata_event *event = perfdata_env_event(env, i);

		if (perfdata_event_is_dummy(event))
			continue;
		buf_put_str(out, is_first ? "events: " : ", ");
		is_first = false;
		perfdata_env_put_name(env, i, out);
		if (event->is_freq)
			buf_printf(out, " at %" PRIu64 " Hz", event->rate);
		else if (event->rate > 1)
			buf_printf(out, " each %" PRIu64, event->rate);
	}
}

static void put_host(const struct perfdata_env *env, struct buf *out)
{
	const struct buf *const parts[] = { &env->release, &env->arch };

	buf_printf(out, "host: %s", env->host.data);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i]->len)
			buf_printf(out, "%s%s", i ? " " : ", Linux ", parts[i]->data);
	if (env->cpus)
		buf_printf(out, ", %" PRIu32 " CPUs", env->cpus);
}

static void put_counts(const struct ingest_counts *n, struct buf *out)
{
	buf_printf(out, "samples: %" PRIu64 ", lost: %" PRIu64, n->samples, n->lost);
	if (n->lost_side)
		buf_printf(out, ", lost records of processes: %" PRIu64, n->lost_side);
	if (n->throttled)
		buf_printf(out, ", throttled: %" PRIu64 " times", n->throttled);
	if (n->unknown)
		buf_printf(out, ", frames in unknown code: %" PRIu64, n->unknown);
	if (n->bad)
		buf_printf(out, ", broken records: %" PRIu64, n->bad);
}

/* The same lines as in auger's own recordings. */
static void add_comments(const struct perfdata_reader *r)
{
	const struct perfdata_env *env = &r->env;
	CLEANUP(buf_fini) struct buf out = { 0 };

	if (env->command.len) {
		buf_printf(&out, "command: %s", env->command.data);
		add_comment(r->profile, &out);
	}
	put_events(env, &out);
	add_comment(r->profile, &out);
	put_counts(ingest_counts(r->ingest), &out);
	add_comment(r->profile, &out);
	user_stack_put_counts(&out, &ingest_counts(r->ingest)->user);
	add_comment(r->profile, &out);
	if (env->host.len) {
		put_host(env, &out);
		add_comment(r->profile, &out);
	}
	buf_printf(&out, "recorded by: perf %s", env->version.len ? env->version.data : "");
	add_comment(r->profile, &out);
}

static void set_info(const struct perfdata_reader *r)
{
	const struct perfdata_env *env = &r->env;
	struct profile_info *info = profile_info(r->profile);
	uint64_t first = env->last_ns > env->first_ns ? env->first_ns : r->first_ns;
	uint64_t last = env->last_ns > env->first_ns ? env->last_ns : r->last_ns;
	const struct perfdata_event *event = perfdata_env_event(env, 0);
	struct value_type type = profile_get_type(r->profile, 1);

	if (last > first && last - first <= INT64_MAX)
		info->duration_ns = (int64_t)(last - first);
	if (env->wall_ns && first && first <= INT64_MAX)
		info->time_ns = env->wall_ns + ((int64_t)first - env->clock_ns);
	info->period_type = type;
	info->has_events = true;
	if (!event->is_freq && event->rate <= INT64_MAX)
		info->period = (int64_t)event->rate;
	else if (event->rate && strcmp(profile_text(r->profile, type.unit), "nanoseconds") == 0)
		info->period =
			NS_PER_S / (int64_t)(event->rate <= NS_PER_S ? event->rate : NS_PER_S);
}

int perfdata_read_parts(struct profile *p, const struct file_input *in,
			const struct file_input *parts, size_t count, struct err *e)
{
	CLEANUP(perfdata_reader_fini) struct perfdata_reader r;
	struct head head = { 0 };
	int rc = perfdata_reader_init(&r, p, in, e);

	r.has_parts = count > 0;
	if (rc == 0)
		rc = read_head(in, &head, e);
	if (rc == 0 && head.head_bytes != PIPE_HEAD_BYTES)
		rc = read_attrs(&r.env, in, &head, e);
	if (rc == 0 && head.head_bytes != PIPE_HEAD_BYTES)
		rc = read_features(&r.env, in, &head, e);
	if (rc == 0)
		rc = read_data(&r, &head, e);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = perfdata_reader_run_part(&r, &parts[i], e);
	if (rc == 0)
		rc = perfdata_reader_finish(&r, e);
	if (rc < 0)
		return rc;
	add_comments(&r);
	set_info(&r);
	return profile_check(p, e);
}

int perfdata_read_input(struct profile *p, const struct file_input *in, struct err *e)
{
	return perfdata_read_parts(p, in, NULL, 0, e);
}

int perfdata_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return perfdata_read_input(p, &(struct file_input){ .data = data, .len = len }, e);
}

static const char *const suffixes[] = { ".data", NULL };

const struct format format_perfdata = {
	.name = "perfdata",
	.summary = "what `perf record` writes",
	.mark = "PERFILE2, or a pipe's header",
	.lost = "times of samples, side-band events",
	.suffixes = suffixes,
	.detect = perfdata_detect,
	.read = perfdata_read,
	.read_input = perfdata_read_input,
};
