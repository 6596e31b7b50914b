/* SPDX-License-Identifier: MIT */
#include "format/perfdata/env.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_EVENTS (1 << 16)       /* tracepoints of a machine are some thousands */
#define MISC_BUILD_ID_SIZE 0x8000U /* PERF_RECORD_MISC_BUILD_ID_SIZE */

/* Where in struct perf_event_attr the flags stand that matter. */
enum {
	FLAG_FREQ = 10,
	FLAG_SAMPLE_ID_ALL = 18,
};

int perfdata_env_init(struct perfdata_env *env)
{
	*env = (struct perfdata_env){ .texts = strtab_new() };
	if (env->texts && strtab_intern(env->texts, "", 0) == 0)
		return 0;
	perfdata_env_fini(env);
	return -ENOMEM;
}

void perfdata_env_fini(struct perfdata_env *env)
{
	struct buf *const texts[] = { &env->host, &env->release, &env->version, &env->arch,
				      &env->command };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		buf_fini(texts[i]);
	strtab_free(env->texts);
	rows_fini(&env->events);
	rows_fini(&env->build_ids);
	map_fini(&env->by_id);
	map_fini(&env->by_path);
	*env = (struct perfdata_env){ 0 };
}

bool perfdata_event_is_dummy(const struct perfdata_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_DUMMY;
}

size_t perfdata_env_event_count(const struct perfdata_env *env)
{
	return env->events.count;
}

static struct perfdata_event *get_event(const struct perfdata_env *env, uint32_t i)
{
	return (struct perfdata_event *)env->events.data + i;
}

const struct perfdata_event *perfdata_env_event(const struct perfdata_env *env, uint32_t i)
{
	return get_event(env, i);
}

/* Attrs grow with the kernel: what an older one has not is zero. */
int perfdata_env_add_event(struct perfdata_env *env, struct cursor attr)
{
	struct perfdata_event *event;
	uint64_t flags;

	if (env->events.count == MAX_EVENTS)
		return 0;
	event = rows_add(&env->events, sizeof *event);
	if (!event)
		return -ENOMEM;
	event->type = cursor_u32(&attr);
	cursor_skip(&attr, 4);
	event->config = cursor_u64(&attr);
	event->rate = cursor_u64(&attr);
	event->shape.sample_type = cursor_u64(&attr);
	event->shape.read_format = cursor_u64(&attr);
	flags = cursor_u64(&attr);
	event->is_freq = flags >> FLAG_FREQ & 1;
	event->shape.sample_id_all = flags >> FLAG_SAMPLE_ID_ALL & 1;
	cursor_skip(&attr, 8 + 8 + 8); /* wake-up and breakpoint, config1, config2 */
	event->shape.branch_sample_type = cursor_u64(&attr);
	event->shape.regs_user = cursor_u64(&attr);
	cursor_skip(&attr, 8); /* size of the stack dump, clock */
	event->shape.regs_intr = cursor_u64(&attr);
	event->is_lbr = event->shape.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
	return 0;
}

int perfdata_env_add_ids(struct perfdata_env *env, struct cursor ids, uint32_t event)
{
	if (event >= env->events.count)
		return 0;
	while (cursor_left(&ids) >= 8)
		if (map_put(&env->by_id, cursor_u64(&ids), event) < 0)
			return -ENOMEM;
	return 0;
}

uint32_t perfdata_env_event_of(const struct perfdata_env *env, uint64_t id)
{
	return map_get(&env->by_id, id);
}

int perfdata_env_set_name(struct perfdata_env *env, uint32_t event, const char *name, size_t len)
{
	uint32_t text;

	if (event >= env->events.count)
		return 0;
	text = strtab_intern(env->texts, name, len);
	if (text == STRTAB_NONE)
		return -ENOMEM;
	get_event(env, event)->name = text;
	return 0;
}

/* A text with its length before it, padded with NULs. */
static const char *take_text(struct cursor *c, size_t *ret_len)
{
	uint32_t room = cursor_u32(c);
	const unsigned char *bytes = cursor_bytes(c, room);

	*ret_len = bytes ? strnlen((const char *)bytes, room) : 0;
	return bytes ? (const char *)bytes : "";
}

static int set_text(struct buf *text, struct cursor body)
{
	size_t len;
	const char *ptr = take_text(&body, &len);

	buf_clear(text);
	buf_put(text, ptr, len);
	return buf_error(text);
}

static int set_command(struct perfdata_env *env, struct cursor body)
{
	uint32_t count = cursor_u32(&body);

	buf_clear(&env->command);
	for (uint32_t i = 0; i < count && !body.bad; i++) {
		size_t len;
		const char *word = take_text(&body, &len);

		if (i)
			buf_put_byte(&env->command, ' ');
		buf_put(&env->command, word, len);
	}
	return buf_error(&env->command);
}

/* Events, each with its attr, ids and name. */
static int add_descriptions(struct perfdata_env *env, struct cursor body)
{
	uint32_t count = cursor_u32(&body), attr_bytes = cursor_u32(&body);
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0 && !body.bad; i++) {
		uint32_t ids_count;
		struct cursor ids;
		size_t len;
		const char *name;

		cursor_skip(&body, attr_bytes);
		ids_count = cursor_u32(&body);
		name = take_text(&body, &len);
		if (ids_count > cursor_left(&body) / 8)
			break;
		ids = cursor_sub(&body, 8 * (size_t)ids_count);
		rc = perfdata_env_add_ids(env, ids, i);
		if (rc == 0)
			rc = perfdata_env_set_name(env, i, name, len);
	}
	return rc;
}

/* Source: struct perf_record_header_build_id; names are padded with NULs. */
int perfdata_env_add_build_id(struct perfdata_env *env, uint16_t misc, struct cursor body)
{
	static const char kernel[] = "[kernel.kallsyms]";
	struct perfdata_build_id id = { .len = RECORD_BUILD_ID_MAX }, *row;
	const unsigned char *bytes;
	uint32_t text;
	size_t len;

	cursor_skip(&body, 4); /* pid */
	bytes = cursor_bytes(&body, 24);
	if (!bytes)
		return 0;
	if (misc & MISC_BUILD_ID_SIZE && bytes[20] < id.len)
		id.len = bytes[20];
	memcpy(id.bytes, bytes, id.len);
	len = strnlen((const char *)body.at, cursor_left(&body));
	if (len == sizeof kernel - 1 && memcmp(body.at, kernel, len) == 0)
		env->kernel = id;
	text = strtab_intern(env->texts, body.at, len);
	row = rows_add(&env->build_ids, sizeof *row);
	if (text == STRTAB_NONE || !row)
		return -ENOMEM;
	*row = id;
	return map_put(&env->by_path, text, (uint32_t)env->build_ids.count - 1);
}

static int add_build_ids(struct perfdata_env *env, struct cursor body)
{
	int rc = 0;

	while (rc == 0 && cursor_left(&body) >= RECORD_HEADER_BYTES) {
		uint16_t misc, size;

		cursor_skip(&body, 4);
		misc = cursor_u16(&body);
		size = cursor_u16(&body);
		if (size < RECORD_HEADER_BYTES)
			break;
		rc = perfdata_env_add_build_id(env, misc,
					       cursor_sub(&body, size - RECORD_HEADER_BYTES));
	}
	return rc;
}

const struct perfdata_build_id *perfdata_env_build_id(const struct perfdata_env *env,
						      const char *path, size_t len)
{
	uint32_t text = strtab_find(env->texts, path, len), row;

	if (text == STRTAB_NONE)
		return NULL;
	row = map_get(&env->by_path, text);
	return row == MAP_NONE ? NULL : (const struct perfdata_build_id *)env->build_ids.data + row;
}

static void set_clock(struct perfdata_env *env, struct cursor body)
{
	uint64_t wall, clock;

	cursor_skip(&body, 4 + 4); /* version, which clock */
	wall = cursor_u64(&body);
	clock = cursor_u64(&body);
	if (body.bad || wall > INT64_MAX || clock > INT64_MAX)
		return;
	env->wall_ns = (int64_t)wall;
	env->clock_ns = (int64_t)clock;
}

static void set_times(struct perfdata_env *env, struct cursor body)
{
	uint64_t first = cursor_u64(&body), last = cursor_u64(&body);

	if (body.bad || last < first)
		return;
	env->first_ns = first;
	env->last_ns = last;
}

int perfdata_env_add_feature(struct perfdata_env *env, unsigned feature, struct cursor body)
{
	switch ((enum perfdata_feature)feature) {
	case PERFDATA_BUILD_ID:
		return add_build_ids(env, body);
	case PERFDATA_HOSTNAME:
		return set_text(&env->host, body);
	case PERFDATA_OSRELEASE:
		return set_text(&env->release, body);
	case PERFDATA_VERSION:
		return set_text(&env->version, body);
	case PERFDATA_ARCH:
		return set_text(&env->arch, body);
	case PERFDATA_NRCPUS:
		cursor_skip(&body, 4); /* those that are there */
		env->cpus = cursor_u32(&body);
		return 0;
	case PERFDATA_CMDLINE:
		return set_command(env, body);
	case PERFDATA_EVENT_DESC:
		return add_descriptions(env, body);
	case PERFDATA_SAMPLE_TIME:
		set_times(env, body);
		return 0;
	case PERFDATA_CLOCK_DATA:
		set_clock(env, body);
		return 0;
	default:
		return 0;
	}
}

static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software_names[] = {
	"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

void perfdata_env_put_name(const struct perfdata_env *env, uint32_t event, struct buf *out)
{
	const struct perfdata_event *e = get_event(env, event);
	struct str name = strtab_get(env->texts, e->name);

	if (name.len)
		buf_put(out, name.ptr, name.len);
	else if (e->type == PERF_TYPE_HARDWARE && e->config < ARRAY_LEN(hardware_names))
		buf_put_str(out, hardware_names[e->config]);
	else if (e->type == PERF_TYPE_SOFTWARE && e->config < ARRAY_LEN(software_names))
		buf_put_str(out, software_names[e->config]);
	else if (e->type == PERF_TYPE_TRACEPOINT)
		buf_printf(out, "tracepoint:%" PRIu64, e->config);
	else
		buf_printf(out, "type-%" PRIu32 "-r%" PRIx64, e->type, e->config);
}
