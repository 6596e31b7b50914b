/* SPDX-License-Identifier: MIT */
#include "format/perfdata/reader.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "perf/callchain.h"
#include "perf/eventname.h"
#include "perf/user_stack.h"

#define DROP_BYTES ((size_t)64 << 20)     /* of input that is behind us are given back at once */
#define FILES_MAX 512                     /* files kept open for their unwinding tables */
#define MAX_TYPES (PROFILE_MAX_TYPES - 2) /* events with a sample type of their own */

/* Records of perf itself. Source: tools/perf/util/event.h, enum perf_user_event_type. */
enum {
	USER_HEADER_ATTR = 64,
	USER_TRACING_DATA = 66,
	USER_BUILD_ID = 67,
	USER_FINISHED_ROUND = 68,
	USER_AUXTRACE = 71,
	USER_EVENT_UPDATE = 78,
	USER_HEADER_FEATURE = 80,
	USER_COMPRESSED = 81,
	USER_COMPRESSED2 = 83,
};

#define EVENT_UPDATE_NAME 2
#define ATTR_BYTES_V0 64              /* PERF_ATTR_SIZE_VER0 */
#define MISC_LOST_SAMPLES_BPF 0x8000U /* PERF_RECORD_MISC_LOST_SAMPLES_BPF: filtered */

int perfdata_reader_init(struct perfdata_reader *r, struct profile *p, const struct file_input *in,
			 struct err *e)
{
	*r = (struct perfdata_reader){ .profile = p, .in = in };
	perfdata_decompress_init(&r->unpack, in->len);
	return perfdata_env_init(&r->env) < 0 ? err_nomem(e) : 0;
}

void perfdata_reader_fini(struct perfdata_reader *r)
{
	ingest_free(r->ingest);
	kernel_free(r->kernel);
	perfdata_queue_fini(&r->queue);
	perfdata_decompress_fini(&r->unpack);
	perfdata_env_fini(&r->env);
	perfdata_counters_fini(&r->counters);
	free(r->types);
	*r = (struct perfdata_reader){ 0 };
}

/* Without NUL inside; "" when it is unknown. */
static const char *text_of(const struct buf *b)
{
	return b->data ? b->data : "";
}

static uint16_t machine_of(const struct perfdata_env *env)
{
	static const struct {
		const char *arch;
		uint16_t machine;
	} known[] = { { "x86_64", EM_X86_64 }, { "aarch64", EM_AARCH64 } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(text_of(&env->arch), known[i].arch) == 0)
			return known[i].machine;
	return env->arch.len ? EM_NONE : user_stack_machine();
}

/* What ingest shall count of an event of this name. */
static struct ingest_event type_of(const struct perfdata_event *event, const char *name,
				   bool has_cpu)
{
	bool is_clock = eventname_is_clock(name, strlen(name));

	return (struct ingest_event){
		.type = is_clock && !has_cpu ? "cpu" : name,
		.unit = is_clock ? "nanoseconds" : "count",
		.period = !event->is_freq && event->rate ? event->rate : 1,
	};
}

/* The names of all events without modifiers, each ended by a NUL. */
static void put_names(const struct perfdata_env *env, struct buf *out)
{
	for (uint32_t i = 0; i < perfdata_env_event_count(env); i++) {
		size_t start = out->len;

		perfdata_env_put_name(env, i, out);
		if (buf_error(out) < 0)
			return;
		out->len = start + eventname_base(out->data + start, out->len - start);
		buf_put_byte(out, 0);
	}
}

/* Each event gets a sample type of its own, the last ones a common one when there are too
 * many. types: [PROFILE_MAX_TYPES]. Their number. */
static size_t make_types(struct perfdata_reader *r, const char *name, struct ingest_event *types)
{
	bool has_cpu = false; /* one clock is enough under that name */
	size_t count = 0;

	for (uint32_t i = 0; i < perfdata_env_event_count(&r->env); i++) {
		const struct perfdata_event *event = perfdata_env_event(&r->env, i);

		if (perfdata_event_is_dummy(event)) {
			r->types[i] = 0;
		} else if (count < MAX_TYPES) {
			types[count] = type_of(event, name, has_cpu);
			has_cpu |= strcmp(types[count].type, "cpu") == 0;
			r->types[i] = count++;
		} else {
			types[MAX_TYPES] = (struct ingest_event){ "events", "count", 1 };
			r->types[i] = MAX_TYPES;
			count = MAX_TYPES + 1;
		}
		name += strlen(name) + 1;
	}
	/* Only such as count nothing: samples of theirs are counted all the same. */
	if (!count)
		types[count++] = (struct ingest_event){ "events", "count", 1 };
	return count;
}

static int start_kernel(struct perfdata_reader *r)
{
	const struct kernel_id id = {
		.build_id = r->env.kernel.bytes,
		.build_id_len = r->env.kernel.len,
		.release = text_of(&r->env.release),
		.host = text_of(&r->env.host),
	};

	r->kernel = kernel_new(r->profile, &id, "");
	return r->kernel ? 0 : -ENOMEM;
}

/* All events are known. */
static int start_ingest(struct perfdata_reader *r, struct err *e)
{
	CLEANUP(buf_fini) struct buf names = { 0 };
	struct ingest_event types[PROFILE_MAX_TYPES];
	size_t events = perfdata_env_event_count(&r->env);
	struct ingest_opts o = {
		.dsos = { .profile = r->profile, .fd_limit = FILES_MAX },
		.machine = machine_of(&r->env),
		.has_times = true,
	};

	for (uint32_t i = 0; i < events; i++)
		o.has_addresses |=
			perfdata_env_event(&r->env, i)->shape.sample_type & PERF_SAMPLE_ADDR;
	if (!events)
		return err_set(e, -EINVAL, "no event is described before the first record");
	r->types = reallocarray(NULL, events, sizeof *r->types);
	put_names(&r->env, &names);
	if (!r->types || buf_error(&names) < 0 || start_kernel(r) < 0)
		return err_nomem(e);
	r->event_count = (uint32_t)events;
	o.dsos.kernel = r->kernel;
	r->ingest = ingest_new(&o, types, make_types(r, names.data, types));
	return r->ingest ? 0 : err_nomem(e);
}

/* The event that wrote the record. */
static uint32_t find_event(const struct perfdata_reader *r, const unsigned char *bytes, size_t len)
{
	uint32_t event = MAP_NONE;
	uint64_t id;

	if (perfdata_env_event_count(&r->env) > 1 &&
	    record_peek_id(&perfdata_env_event(&r->env, 0)->shape, bytes, len, &id))
		event = perfdata_env_event_of(&r->env, id);
	return event == MAP_NONE || event >= r->event_count ? 0 : event;
}

static int add_map(struct perfdata_reader *r, struct record *record)
{
	struct record_mmap *m = &record->mmap;
	const struct perfdata_build_id *id;

	if (callchain_space_of(record->misc) == FRAME_SPACE_KERNEL)
		return kernel_add_map(r->kernel, m);
	id = perfdata_env_build_id(&r->env, (const char *)m->path.bytes, m->path.len);
	if (id && !m->build_id_len) {
		memcpy(m->build_id, id->bytes, id->len);
		m->build_id_len = id->len;
	}
	return ingest_record(r->ingest, record, 0);
}

/*
 * A ring reports how many records did not fit into it, of whatever event. When perf ends it asks
 * each event, which is better, and writes that without a time.
 */
static int add_lost(struct perfdata_reader *r, const struct record *record, uint32_t event)
{
	if (record->type == PERF_RECORD_LOST) {
		r->lost_in_rings += record->lost.count;
		return 0;
	}
	if (record->misc & MISC_LOST_SAMPLES_BPF)
		return 0;
	if (record->time)
		return ingest_record(r->ingest, record, 0);
	r->has_lost_records = true;
	if (perfdata_event_is_dummy(perfdata_env_event(&r->env, event)))
		ingest_count_lost_side(r->ingest, record->lost.count);
	else
		ingest_count_lost(r->ingest, record->lost.count);
	return 0;
}

static void note_time(struct perfdata_reader *r, uint64_t time)
{
	if (!time)
		return;
	if (!r->last_ns || time < r->first_ns)
		r->first_ns = time;
	if (time > r->last_ns)
		r->last_ns = time;
}

/* Each counter of the group that went on is a sample. */
static int add_group(struct perfdata_reader *r, struct record *record,
		     const struct record_shape *shape, size_t counters)
{
	int rc = 0;

	for (size_t i = 0; i < counters && rc == 0; i++) {
		uint64_t id;
		uint32_t event;

		rc = perfdata_counters_take(&r->counters, &record->sample, shape, i, &id,
					    &record->sample.period);
		event = perfdata_env_event_of(&r->env, id);
		if (rc == 0 && record->sample.period && event < r->event_count)
			rc = ingest_record(r->ingest, record, r->types[event]);
	}
	return rc;
}

static int add_sample(struct perfdata_reader *r, struct record *record, uint32_t event)
{
	const struct perfdata_event *from = perfdata_env_event(&r->env, event);
	size_t counters = perfdata_counters_in(&record->sample, &from->shape);

	note_time(r, record->time);
	if (from->is_lbr)
		perfdata_chain_from_lbr(&r->chain, &record->sample, record->misc);
	if (counters)
		return add_group(r, record, &from->shape, counters);
	return ingest_record(r->ingest, record, r->types[event]);
}

static int deliver(struct perfdata_reader *r, const unsigned char *bytes, struct err *e)
{
	size_t len = record_claim(bytes);
	uint32_t event = find_event(r, bytes, len);
	const struct perfdata_event *from = perfdata_env_event(&r->env, event);
	struct record record;
	struct err why;
	int rc;

	if (record_decode(&record, &from->shape, bytes, len, &why) < 0) {
		ingest_count_bad(r->ingest);
		return 0;
	}
	switch (record.type) {
	case PERF_RECORD_SAMPLE:
		rc = add_sample(r, &record, event);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		rc = add_map(r, &record);
		break;
	case PERF_RECORD_KSYMBOL:
		rc = kernel_add_symbol(r->kernel, &record.ksymbol);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		rc = add_lost(r, &record, event);
		break;
	default:
		rc = ingest_record(r->ingest, &record, 0);
	}
	return rc < 0 ? err_nomem(e) : 0;
}

/* Releases the memory before the first queued record. */
static void drop_input(struct perfdata_reader *r, const unsigned char *at)
{
	const unsigned char *oldest = perfdata_queue_oldest(&r->queue);
	size_t done = (size_t)((oldest ? oldest : at) - r->in->data);

	if (done < r->dropped + DROP_BYTES)
		return;
	file_input_drop(r->in, r->dropped, done);
	r->dropped = done;
}

static int flush(struct perfdata_reader *r, struct err *e)
{
	struct perfdata_record record;
	int rc = 0;

	while (rc == 0 && perfdata_queue_take(&r->queue, &record))
		rc = deliver(r, record.bytes, e);
	return rc;
}

/* A record of the kernel. */
static int enqueue(struct perfdata_reader *r, const unsigned char *bytes,
		   struct perfdata_block *block, struct err *e)
{
	size_t len = record_claim(bytes);
	uint64_t time;
	int rc;

	if (!r->ingest) {
		rc = start_ingest(r, e);
		if (rc < 0)
			return rc;
	}
	time = record_peek_time(&perfdata_env_event(&r->env, find_event(r, bytes, len))->shape,
				bytes, len);
	/* perf wrote it by itself, about what was there before */
	if (!time || time == UINT64_MAX)
		return deliver(r, bytes, e);
	rc = perfdata_queue_put(&r->queue, time, bytes, block);
	return rc < 0 ? err_nomem(e) : 0;
}

/* An attr and the ids of its event, in a pipe. */
static int add_attr(struct perfdata_reader *r, struct cursor body)
{
	struct cursor ahead = body, attr;
	uint32_t attr_bytes, event = (uint32_t)perfdata_env_event_count(&r->env);

	cursor_skip(&ahead, 4);
	attr_bytes = cursor_u32(&ahead);
	attr = cursor_sub(&body, attr_bytes ? attr_bytes : ATTR_BYTES_V0);
	if (body.bad)
		return 0;
	if (perfdata_env_add_event(&r->env, attr) < 0)
		return -ENOMEM;
	return perfdata_env_add_ids(&r->env, body, event);
}

static int update_event(struct perfdata_reader *r, struct cursor body)
{
	uint64_t what = cursor_u64(&body), id = cursor_u64(&body);
	const char *name = (const char *)body.at;

	if (body.bad || what != EVENT_UPDATE_NAME)
		return 0;
	return perfdata_env_set_name(&r->env, perfdata_env_event_of(&r->env, id), name,
				     strnlen(name, cursor_left(&body)));
}

/* 1: it is one of perf's own records, and done. */
static int take_own(struct perfdata_reader *r, const unsigned char *bytes)
{
	struct cursor body = cursor_make(bytes, record_claim(bytes));
	uint64_t feature;
	uint16_t misc;

	cursor_skip(&body, 4);
	misc = cursor_u16(&body);
	cursor_skip(&body, 2);
	switch (record_type(bytes)) {
	case USER_HEADER_ATTR:
		return add_attr(r, body);
	case USER_EVENT_UPDATE:
		return update_event(r, body);
	case USER_HEADER_FEATURE:
		feature = cursor_u64(&body);
		return feature < PERFDATA_FEATURES
			       ? perfdata_env_add_feature(&r->env, (unsigned)feature, body)
			       : 0;
	case USER_BUILD_ID:
		return perfdata_env_add_build_id(&r->env, misc, body);
	default:
		return 0;
	}
}

/* The records in a body of packed ones. */
static int take_packed(struct perfdata_reader *r, struct cursor body, struct err *e)
{
	const unsigned char *bytes;
	int rc;

	for (;;) {
		rc = perfdata_decompress_next(&r->unpack, &body, &bytes, e);
		if (rc <= 0)
			return rc;
		rc = record_type(bytes) < USER_HEADER_ATTR ? enqueue(r, bytes, r->unpack.block, e)
							   : 0;
		if (rc < 0)
			return rc;
	}
}

/* A record and the data that follows it: *ret_len in all. */
static int take_record(struct perfdata_reader *r, const unsigned char *bytes, size_t *ret_len,
		       struct err *e)
{
	struct cursor body = cursor_make(bytes, *ret_len);
	uint64_t size;

	cursor_skip(&body, RECORD_HEADER_BYTES);
	switch (record_type(bytes)) {
	case USER_FINISHED_ROUND:
		if (r->has_parts) /* of this file, not of the others */
			return 0;
		perfdata_queue_end_round(&r->queue);
		drop_input(r, bytes);
		return flush(r, e);
	case USER_COMPRESSED:
		return take_packed(r, body, e);
	case USER_COMPRESSED2:
		size = cursor_u64(&body);
		return take_packed(r, cursor_sub(&body, (size_t)size), e);
	case USER_TRACING_DATA:
		*ret_len += (cursor_u32(&body) + UINT64_C(7)) & ~UINT64_C(7);
		return 0;
	case USER_AUXTRACE:
		size = cursor_u64(&body);
		*ret_len = size > SIZE_MAX - *ret_len ? SIZE_MAX : *ret_len + size;
		return 0;
	default:
		break;
	}
	if (record_type(bytes) < USER_HEADER_ATTR)
		return enqueue(r, bytes, NULL, e);
	return take_own(r, bytes) < 0 ? err_nomem(e) : 0;
}

static void warn_broken(size_t at, const char *why)
{
	log_msg(LOG_WARN, "perfdata", "byte %zu: %s; what comes before is read", at, why);
}

int perfdata_reader_run(struct perfdata_reader *r, size_t from, size_t to, struct err *e)
{
	size_t at = from, len;

	for (; at < to; at += len) {
		const unsigned char *bytes = r->in->data + at;
		int rc;

		len = record_len(bytes, to - at);
		if (!len) {
			warn_broken(at, "the records end in the middle of one");
			break;
		}
		rc = take_record(r, bytes, &len, e);
		if (rc == -EINVAL && r->ingest) {
			warn_broken(at, e->msg);
			*e = (struct err){ 0 };
			break;
		}
		if (rc < 0)
			return rc == -ENOMEM ? rc : err_wrap(e, "byte %zu", at);
		if (len > to - at) {
			warn_broken(at, "the records end in the middle of one");
			break;
		}
	}
	return 0;
}

int perfdata_reader_run_part(struct perfdata_reader *r, const struct file_input *part,
			     struct err *e)
{
	const struct file_input *in = r->in;
	int rc;

	perfdata_decompress_fini(&r->unpack); /* each file is packed by itself */
	perfdata_decompress_init(&r->unpack, part->len);
	r->in = part;
	rc = perfdata_reader_run(r, 0, part->len, e);
	r->in = in;
	return rc;
}

int perfdata_reader_finish(struct perfdata_reader *r, struct err *e)
{
	int rc;

	perfdata_queue_end(&r->queue);
	rc = flush(r, e);
	if (rc < 0)
		return rc;
	if (!r->ingest) {
		rc = start_ingest(r, e);
		if (rc < 0)
			return rc;
	}
	if (!r->has_lost_records)
		ingest_count_lost(r->ingest, r->lost_in_rings);
	rc = ingest_finish(r->ingest);
	return rc < 0 ? err_nomem(e) : profile_check(r->profile, e);
}
