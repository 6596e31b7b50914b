/* SPDX-License-Identifier: MIT */
#include "format/perfdata/perfdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/log.h"
#include "perf/record.h"
#include "tap.h"

#define IP 0x401000

enum { ATTR_V0 = 64, ATTR_NOW = 128 };

static struct buf warnings;

static void keep_warning(enum log_level level, const char *domain, const char *text)
{
	(void)domain;
	if (level == LOG_WARN)
		buf_printf(&warnings, "%s\n", text);
}

static void free_profile(struct profile **p)
{
	profile_free(*p);
}

/* An event of a file, with one id. */
struct event {
	uint32_t type;
	uint64_t config, rate, sample_type, flags;
	uint64_t id;
	uint64_t read_format, branch_sample_type;
};

static const struct event cycles = {
	.type = PERF_TYPE_HARDWARE,
	.rate = 1000,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
	.flags = 1 << 18, /* sample_id_all */
	.id = 70,
};

static void put_attr(struct buf *out, const struct event *event, uint32_t attr_bytes)
{
	size_t start = out->len;

	buf_put_u32(out, event->type);
	buf_put_u32(out, attr_bytes);
	buf_put_u64(out, event->config);
	buf_put_u64(out, event->rate);
	buf_put_u64(out, event->sample_type);
	buf_put_u64(out, event->read_format);
	buf_put_u64(out, event->flags);
	for (int i = 0; i < 3; i++)
		buf_put_u64(out, 0);
	buf_put_u64(out, event->branch_sample_type);
	while (out->len < start + attr_bytes)
		buf_put_byte(out, 0);
	out->len = start + attr_bytes;
}

/* "[text]" in record's body: u32 pairs and u64s are put by hand, text to a multiple of 8. */
static void put_text(struct buf *out, const char *text)
{
	size_t len = strlen(text) + 1;

	buf_put(out, text, len);
	for (; len % 8; len++)
		buf_put_byte(out, 0);
}

static void put_record(struct buf *out, uint32_t type, uint16_t misc, const struct buf *body)
{
	uint16_t numbers[] = { misc, (uint16_t)(8 + body->len) };

	buf_put_u32(out, type);
	buf_put(out, numbers, sizeof numbers);
	buf_put(out, body->data, body->len);
}

/* What stands at the end of records that are no samples. */
static void put_id(struct buf *out, uint32_t pid, uint32_t tid, uint64_t time, uint64_t id)
{
	buf_put_u32(out, pid);
	buf_put_u32(out, tid);
	buf_put_u64(out, time);
	buf_put_u64(out, id);
}

static void put_sample(struct buf *out, uint64_t ip, uint32_t pid, uint64_t time, uint64_t id)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	buf_put_u64(&body, ip);
	put_id(&body, pid, pid, time, id);
	put_record(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body);
}

static void put_comm(struct buf *out, uint32_t pid, const char *name, uint64_t time)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	buf_put_u32(&body, pid);
	buf_put_u32(&body, pid);
	put_text(&body, name);
	put_id(&body, pid, pid, time, cycles.id);
	put_record(out, PERF_RECORD_COMM, 0, &body);
}

static void put_map(struct buf *out, uint32_t pid, uint16_t misc, uint64_t start, uint64_t len,
		    uint64_t offset, const char *path)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	buf_put_u32(&body, pid);
	buf_put_u32(&body, pid);
	buf_put_u64(&body, start);
	buf_put_u64(&body, len);
	buf_put_u64(&body, offset);
	put_text(&body, path);
	put_id(&body, pid, pid, 0, cycles.id);
	put_record(out, PERF_RECORD_MMAP, misc, &body);
}

static void put_round(struct buf *out)
{
	put_record(out, 68, 0, &(struct buf){ 0 });
}

static void put_string_feature(struct buf *out, const char *text)
{
	CLEANUP(buf_fini) struct buf padded = { 0 };

	put_text(&padded, text);
	buf_put_u32(out, (uint32_t)padded.len);
	buf_put(out, padded.data, padded.len);
}

/* A file of these events and records, with a host name and a command. */
static void make_file(struct buf *out, const struct event *events, size_t count,
		      uint32_t attr_bytes, const struct buf *records)
{
	enum { HEAD = 104, TABLE = 32 };
	uint64_t attrs = HEAD + 8 * count, data = attrs + count * (attr_bytes + 16);
	uint64_t features = data + records->len;
	CLEANUP(buf_fini) struct buf host = { 0 }, command = { 0 };

	put_string_feature(&host, "node1");
	buf_put_u32(&command, 2);
	put_string_feature(&command, "perf");
	put_string_feature(&command, "record");
	buf_put_str(out, "PERFILE2");
	buf_put_u64(out, HEAD);
	buf_put_u64(out, attr_bytes + 16);
	buf_put_u64(out, attrs);
	buf_put_u64(out, count * (attr_bytes + 16));
	buf_put_u64(out, data);
	buf_put_u64(out, records->len);
	buf_put_u64(out, 0);
	buf_put_u64(out, 0);
	buf_put_u64(out, 1 << 3 | 1 << 11);
	for (int i = 0; i < 3; i++)
		buf_put_u64(out, 0);
	for (size_t i = 0; i < count; i++)
		buf_put_u64(out, events[i].id);
	for (size_t i = 0; i < count; i++) {
		put_attr(out, &events[i], attr_bytes);
		buf_put_u64(out, HEAD + 8 * i);
		buf_put_u64(out, 8);
	}
	buf_put(out, records->data, records->len);
	buf_put_u64(out, features + TABLE);
	buf_put_u64(out, host.len);
	buf_put_u64(out, features + TABLE + host.len);
	buf_put_u64(out, command.len);
	buf_put(out, host.data, host.len);
	buf_put(out, command.data, command.len);
}

static void put_pipe_head(struct buf *out, const struct event *event)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	buf_put_str(out, "PERFILE2");
	buf_put_u64(out, 16);
	put_attr(&body, event, ATTR_NOW);
	buf_put_u64(&body, event->id);
	put_record(out, 64, 0, &body);
	buf_clear(&body);
	buf_put_u64(&body, 3); /* HOSTNAME */
	put_string_feature(&body, "node2");
	put_record(out, 80, 0, &body);
	buf_clear(&body);
	buf_put_u64(&body, 2); /* EVENT_UPDATE, its name */
	buf_put_u64(&body, event->id);
	put_text(&body, "my-event:u");
	put_record(out, 78, 0, &body);
}

static int read_file(const struct buf *file, struct profile **ret, struct err *e)
{
	*e = (struct err){ 0 };
	*ret = profile_new();
	buf_clear(&warnings);
	buf_put_str(&warnings, "");
	return perfdata_read(*ret, (const unsigned char *)file->data, file->len, e);
}

/* "comm: path+address ...; value...", samples in the order of the profile, one a line. */
static void put_profile(const struct profile *p, struct buf *out)
{
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		size_t count;
		const struct label *labels = profile_get_labels(p, s.labels, &count);

		for (size_t k = 0; k < count; k++)
			if (labels[k].str)
				buf_printf(out, "%s:", profile_text(p, labels[k].str));
		for (uint32_t n = s.node; n; n = profile_get_node(p, n).parent) {
			struct location l =
				profile_get_location(p, profile_get_node(p, n).location);
			const char *path = profile_text(p, profile_get_mapping(p, l.mapping)->path);
			const char *name =
				l.line_count
					? profile_text(p,
						       profile_get_function(p, l.lines[0].function)
							       ->name)
					: "";

			buf_printf(out, " %s%s+%" PRIx64, path, name, l.address);
		}
		for (size_t k = 0; k < profile_type_count(p); k++)
			buf_printf(out, " %" PRId64, s.values[k]);
		buf_put_str(out, "\n");
	}
}

static void check_file(const struct buf *file, const char *want, const char *want_warnings)
{
	CLEANUP(free_profile) struct profile *p;
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct err e;

	if (!CHECK_INT(read_file(file, &p, &e), 0))
		fprintf(stderr, "%s\n", e.msg);
	put_profile(p, &got);
	CHECK_STR(got.data ? got.data : "", want);
	CHECK_STR(warnings.data, want_warnings);
}

static void put_usual_records(struct buf *out)
{
	put_map(out, 7, PERF_RECORD_MISC_USER, 0x400000, 0x2000, 0, "/no/such/x");
	put_comm(out, 7, "before", 0);
	put_sample(out, IP, 7, 300, cycles.id);
	put_comm(out, 7, "after", 200);
	put_round(out);
	put_sample(out, IP, 7, 100, cycles.id);
	put_round(out);
}

#define USUAL                              \
	"before: /no/such/x+1000 1 1000\n" \
	"after: /no/such/x+1000 1 1000\n"

static void test_records_come_in_order_of_time(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 };

	put_usual_records(&records);
	make_file(&file, &cycles, 1, ATTR_NOW, &records);
	check_file(&file, USUAL, "");
}

static void test_old_attributes(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 };

	put_usual_records(&records);
	make_file(&file, &cycles, 1, ATTR_V0, &records);
	memcpy(file.data, "PERFFILE", 8);
	check_file(&file, USUAL, "");
}

static void test_head(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 };
	CLEANUP(free_profile) struct profile *p;
	struct err e;

	put_usual_records(&records);
	make_file(&file, &cycles, 1, ATTR_NOW, &records);
	CHECK_INT(read_file(&file, &p, &e), 0);
	CHECK_STR(profile_get_comment(p, 0), "command: perf record");
	CHECK_STR(profile_get_comment(p, 1), "events: cycles each 1000");
	CHECK_STR(profile_get_comment(p, 2), "samples: 2, lost: 0");
	CHECK_STR(profile_get_comment(p, 3), "host: node1");
	CHECK_STR(profile_text(p, profile_get_type(p, 1).type), "cycles");
	CHECK_INT(profile_get_info(p)->duration_ns, 200);
	CHECK_INT(profile_get_info(p)->period, 1000);
}

static void test_pipe(void)
{
	CLEANUP(buf_fini) struct buf file = { 0 };
	CLEANUP(free_profile) struct profile *p;
	struct err e;

	put_pipe_head(&file, &cycles);
	put_usual_records(&file);
	check_file(&file, USUAL, "");
	CHECK_INT(read_file(&file, &p, &e), 0);
	CHECK_STR(profile_text(p, profile_get_type(p, 1).type), "my-event");
	CHECK_STR(profile_get_comment(p, 0), "events: my-event:u each 1000");
	CHECK_STR(profile_get_comment(p, 2), "host: node2");
}

/* The stream of packed records is cut into two bodies in the middle of a record. */
static void test_compressed(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 }, packed = { 0 };
	struct buf plain = { 0 };
	ZSTD_CStream *stream = ZSTD_createCStream();
	size_t half;

	put_usual_records(&plain);
	half = plain.len / 2 + 3;
	for (int part = 0; part < 2; part++) {
		ZSTD_inBuffer in = { plain.data + (part ? half : 0), part ? plain.len - half : half,
				     0 };
		char bytes[4096];
		ZSTD_outBuffer out = { bytes, sizeof bytes, 0 };

		CHECK_INT(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush), 0);
		buf_clear(&packed);
		buf_put(&packed, bytes, out.pos);
		put_record(&records, 81, 0, &packed);
	}
	ZSTD_freeCStream(stream);
	buf_fini(&plain);
	make_file(&file, &cycles, 1, ATTR_NOW, &records);
	check_file(&file, USUAL, "");
}

static void test_events_are_told_apart_by_id(void)
{
	struct event events[] = { cycles, cycles, cycles };
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 };

	events[1].config = PERF_COUNT_HW_CACHE_MISSES;
	events[1].id = 71;
	events[2].type = PERF_TYPE_SOFTWARE;
	events[2].config = PERF_COUNT_SW_DUMMY;
	events[2].id = 72;
	put_sample(&records, IP, 7, 100, 71);
	put_sample(&records, IP, 7, 100, 70);
	put_sample(&records, IP, 7, 100, 71);
	make_file(&file, events, ARRAY_LEN(events), ATTR_NOW, &records);
	check_file(&file, " [unknown]+0 1 1000 2000\n", "");
}

static void put_chain_sample(struct buf *out, uint16_t misc, const uint64_t *chain, size_t count)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	buf_put_u64(&body, chain[1]);
	put_id(&body, 7, 7, 500, cycles.id);
	buf_put_u64(&body, count);
	for (size_t i = 0; i < count; i++)
		buf_put_u64(&body, chain[i]);
	put_record(out, PERF_RECORD_SAMPLE, misc, &body);
}

/* A kernel that is not the running one: no name comes from here. */
static void test_kernel_and_modules(void)
{
	static const uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_KERNEL,
		0xffffffff81000010,
		0xffffffffc0000020,
		0xffffffffc1000031,
		(uint64_t)PERF_CONTEXT_USER,
		IP,
	};
	struct event event = cycles;
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 }, symbol = { 0 };
	CLEANUP(free_profile) struct profile *p;
	struct err e;

	event.sample_type |= PERF_SAMPLE_CALLCHAIN;
	put_map(&records, UINT32_MAX, PERF_RECORD_MISC_KERNEL, 0xffffffff81000000, 0x1000000,
		0xffffffff81000000, "[kernel.kallsyms]_text");
	put_map(&records, UINT32_MAX, PERF_RECORD_MISC_KERNEL, 0xffffffffc0000000, 0x1000, 0,
		"/lib/modules/6.1.0/kernel/fs/ext4/my-fs.ko.xz");
	buf_put_u64(&symbol, 0xffffffffc1000000);
	buf_put_u32(&symbol, 0x100);
	buf_put_u32(&symbol, 1); /* type: BPF; flags: 0 */
	put_text(&symbol, "bpf_prog_x");
	put_id(&symbol, 0, 0, 0, cycles.id);
	put_record(&records, PERF_RECORD_KSYMBOL, 0, &symbol);
	put_chain_sample(&records, PERF_RECORD_MISC_KERNEL, chain, ARRAY_LEN(chain));
	make_file(&file, &event, 1, ATTR_NOW, &records);
	check_file(&file,
		   " [kernel.kallsyms]+ffffffff81000010 [my_fs]+ffffffffc000001f bpf_prog_x+0 "
		   "1 1000\n",
		   "");
	CHECK_INT(read_file(&file, &p, &e), 0);
	for (uint32_t i = 1; i < profile_mapping_count(p); i++)
		CHECK(profile_get_mapping(p, i)->has_functions);
}

static void test_lbr(void)
{
	static const uint64_t branches[] = { 0x402010, IP, 0, 0x403020, 0x402000, 0 };
	struct event event = cycles;
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 }, body = { 0 };

	event.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
	event.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
	put_map(&records, 7, PERF_RECORD_MISC_USER, 0x400000, 0x8000, 0, "/no/such/x");
	buf_put_u64(&body, IP + 4);
	put_id(&body, 7, 7, 500, cycles.id);
	buf_put_u64(&body, 2);
	buf_put_u64(&body, (uint64_t)PERF_CONTEXT_USER);
	buf_put_u64(&body, IP + 4);
	buf_put_u64(&body, 2);
	buf_put(&body, branches, sizeof branches);
	put_record(&records, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body);
	make_file(&file, &event, 1, ATTR_NOW, &records);
	check_file(&file, " /no/such/x+1004 /no/such/x+2010 /no/such/x+3020 1 1000\n", "");
}

static void put_lost(struct buf *out, uint32_t type, uint64_t count, uint64_t time)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	if (type == PERF_RECORD_LOST)
		buf_put_u64(&body, cycles.id);
	buf_put_u64(&body, count);
	put_id(&body, 7, 7, time, cycles.id);
	put_record(out, type, 0, &body);
}

static void test_lost(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, first = { 0 }, second = { 0 };

	put_lost(&records, PERF_RECORD_LOST, 12, 100);
	make_file(&first, &cycles, 1, ATTR_NOW, &records);
	check_file(&first, " [lost]+0 12 0\n", "");
	put_lost(&records, PERF_RECORD_LOST_SAMPLES, 10, 0); /* the same, by event */
	make_file(&second, &cycles, 1, ATTR_NOW, &records);
	check_file(&second, " [lost]+0 10 0\n", "");
}

static void test_broken_files_are_read_to_there(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 }, open = { 0 };
	CLEANUP(buf_fini) struct buf zero = { 0 };
	size_t data;

	put_usual_records(&records);
	make_file(&file, &cycles, 1, ATTR_NOW, &records);
	data = 104 + 8 + ATTR_NOW + 16;
	file.len = data + records.len - 4;
	check_file(&file, USUAL,
		   "the file is cut: 268 of 272 bytes of records are there\n"
		   "byte 520: the records end in the middle of one; what comes before is read\n");
	buf_put(&open, file.data, data + records.len);
	memset(open.data + 48, 0, 8); /* perf was killed: it did not write the length */
	check_file(&open, USUAL,
		   "perf did not finish this file: it may lack samples, and build ids\n");
	buf_put(&zero, open.data, data + records.len);
	memset(zero.data + data + records.len - 8, 0, 8);
	check_file(&zero, USUAL,
		   "perf did not finish this file: it may lack samples, and build ids\n"
		   "byte 520: the records end in the middle of one; what comes before is read\n");
}

static void test_errors(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *message;
	} rows[] = {
		{ "", 0, "byte 0: not a file of perf record" },
		{ "PERFILE2", 8, "byte 8: the head ends too early" },
		{ "2ELIFREP", 8,
		  "byte 0: recorded on a big-endian machine; 'perf script' there makes a text that "
		  "can be read" },
		{ "PERFILE2\x10\0\0\0\0\0\0", 16, "no event is described before the first record" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *p = profile_new();
		struct err e = { 0 };

		CHECK(perfdata_read(p, (const unsigned char *)rows[i].bytes, rows[i].len, &e) < 0);
		CHECK_STR(e.msg, rows[i].message);
		profile_free(p);
	}
}

/* Two events whose ids are said to be the whole file: with many of them that would never end. */
static void test_too_many_ids(void)
{
	const struct event events[] = { cycles, cycles };
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 };
	struct profile *p = profile_new();
	struct err e = { 0 };

	make_file(&file, events, ARRAY_LEN(events), ATTR_NOW, &records);
	for (size_t i = 1; i <= ARRAY_LEN(events); i++) {
		char *section = file.data + 104 + 8 * 2 + i * (ATTR_NOW + 16) - 16;

		memset(section, 0, 8);
		memset(section + 8, 0x7f, 8);
	}
	CHECK(perfdata_read(p, (const unsigned char *)file.data, file.len, &e) < 0);
	CHECK_STR(e.msg, "byte 0: the events have more ids than the file");
	profile_free(p);
}

/* What is in several files comes in the order of time over all, whatever rounds they tell of. */
static void test_parts(void)
{
	CLEANUP(buf_fini) struct buf records = { 0 }, file = { 0 }, one = { 0 }, two = { 0 };
	CLEANUP(buf_fini) struct buf got = { 0 };
	CLEANUP(free_profile) struct profile *p = profile_new();
	struct file_input in, parts[2];
	struct err e = { 0 };

	put_map(&records, 7, PERF_RECORD_MISC_USER, 0x400000, 0x2000, 0, "/no/such/x");
	put_comm(&records, 7, "before", 0);
	make_file(&file, &cycles, 1, ATTR_NOW, &records);
	put_sample(&one, IP, 7, 300, cycles.id);
	put_round(&one);
	put_round(&one);
	put_sample(&one, IP, 7, 400, cycles.id);
	put_sample(&two, IP, 7, 100, cycles.id);
	put_comm(&two, 7, "after", 200);
	in = (struct file_input){ .data = (const unsigned char *)file.data, .len = file.len };
	parts[0] = (struct file_input){ .data = (const unsigned char *)one.data, .len = one.len };
	parts[1] = (struct file_input){ .data = (const unsigned char *)two.data, .len = two.len };
	buf_clear(&warnings);
	buf_put_str(&warnings, "");
	CHECK_INT(perfdata_read_parts(p, &in, parts, 2, &e), 0);
	put_profile(p, &got);
	CHECK_STR(got.data, "before: /no/such/x+1000 1 1000\n"
			    "after: /no/such/x+1000 2 2000\n");
	CHECK_STR(warnings.data, "");
}

int main(void)
{
	log_open(keep_warning, NULL);
	TAP_CASE(test_records_come_in_order_of_time);
	TAP_CASE(test_old_attributes);
	TAP_CASE(test_head);
	TAP_CASE(test_pipe);
	TAP_CASE(test_compressed);
	TAP_CASE(test_events_are_told_apart_by_id);
	TAP_CASE(test_kernel_and_modules);
	TAP_CASE(test_lbr);
	TAP_CASE(test_lost);
	TAP_CASE(test_broken_files_are_read_to_there);
	TAP_CASE(test_errors);
	TAP_CASE(test_too_many_ids);
	TAP_CASE(test_parts);
	buf_fini(&warnings);
	return tap_done();
}
