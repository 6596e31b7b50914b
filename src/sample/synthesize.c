/* SPDX-License-Identifier: MIT */
#include "sample/synthesize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/file.h"
#include "target/proc.h"

#define MAPS_MAX (UINT64_C(256) << 20) /* bytes of /proc/PID/maps */
#define COMM_MAX 256                   /* bytes of /proc/PID/comm */
#define ASK_LINES 256                  /* of maps between two questions whether it is over */

static int tell_ingest(void *context, const struct record *r)
{
	return ingest_record(context, r, 0);
}

struct synthesize_sink synthesize_to_ingest(struct ingest *in)
{
	return (struct synthesize_sink){ .put = tell_ingest, .context = in };
}

static bool is_over(const struct synthesize_sink *to)
{
	return to->is_over && to->is_over(to->context);
}

static int put_comm(const struct synthesize_sink *to, const char *proc, uint32_t pid, uint32_t tid)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct record r = { .type = PERF_RECORD_COMM, .comm = { .pid = pid, .tid = tid } };
	struct err e;

	buf_printf(&path, "%s/%u/task/%u/comm", proc, pid, tid);
	if (buf_error(&path) < 0)
		return -ENOMEM;
	if (file_read_small(path.data, COMM_MAX, &text, &e) < 0 || text.len == 0)
		return 0;
	r.comm.name.bytes = (const unsigned char *)text.data;
	r.comm.name.len = text.len - (text.data[text.len - 1] == '\n');
	return to->put(to->context, &r);
}

static int put_threads(const struct synthesize_sink *to, const char *proc, uint32_t pid)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	int rc = proc_open_threads(proc, pid, &dir);
	uint32_t tid;

	while (rc == 0 && !is_over(to) && proc_next(dir, &tid))
		rc = put_comm(to, proc, pid, tid);
	return rc;
}

/* The kernel writes a newline in a path as \012. */
static size_t unescape(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++, n++) {
		bool is_newline = len - i >= 4 && memcmp(text + i, "\\012", 4) == 0;

		text[n] = is_newline ? '\n' : text[i];
		i += is_newline ? 3 : 0;
	}
	return n;
}

static bool parse_line(char *line, struct record_mmap *ret)
{
	struct proc_map m;
	char *path;

	if (!proc_map_parse(&m, line))
		return false;
	path = line + (m.path - line);
	*ret = (struct record_mmap){
		.has_inode = true,
		.prot = (uint32_t)(m.prot | PROT_READ),
		.start = m.start,
		.len = m.end - m.start,
		.offset = m.offset,
		.major = m.dev_major,
		.minor = m.dev_minor,
		.ino = m.ino,
		.path = { (const unsigned char *)path, unescape(path, strlen(path)) },
	};
	return true;
}

static int put_maps(const struct synthesize_sink *to, const char *proc, uint32_t pid)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(buf_fini) struct buf text = { 0 };
	unsigned lines = 0;
	struct err e;
	int rc = 0;

	buf_printf(&path, "%s/%u/maps", proc, pid);
	if (buf_error(&path) < 0)
		return -ENOMEM;
	if (file_read_small(path.data, MAPS_MAX, &text, &e) < 0)
		return 0;
	for (char *line = text.data, *end; rc == 0 && line && *line; line = end + 1) {
		struct record r = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER };

		end = strchr(line, '\n');
		if (!end || (lines++ % ASK_LINES == 0 && is_over(to)))
			break;
		*end = '\0';
		if (!parse_line(line, &r.mmap))
			continue;
		if (!(r.mmap.prot & PROT_EXEC) && !to->wants_all &&
		    (!to->wants_data || !r.mmap.ino))
			continue;
		if (!(r.mmap.prot & PROT_EXEC))
			r.misc |= PERF_RECORD_MISC_MMAP_DATA;
		r.mmap.pid = pid;
		r.mmap.tid = pid;
		rc = to->put(to->context, &r);
	}
	return rc;
}

int synthesize_process(const struct synthesize_sink *to, const char *proc, uint32_t pid)
{
	int rc = put_threads(to, proc, pid);

	return rc < 0 ? rc : put_maps(to, proc, pid);
}

int synthesize_all(const struct synthesize_sink *to, const char *proc, struct err *e)
{
	CLEANUP(proc_close) DIR *dir = opendir(proc);
	uint32_t pid;

	if (!dir)
		return err_errno(e, "%s", proc);
	while (!is_over(to) && proc_next(dir, &pid))
		if (synthesize_process(to, proc, pid) < 0)
			return err_nomem(e);
	return 0;
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

uint64_t synthesize_kernel_start(const char *path)
{
	CLEANUP(close_file) FILE *f = fopen(path, "re");
	char line[512];

	/* It is among the first lines; hidden addresses are zeros. */
	for (int i = 0; f && i < 1000 && fgets(line, sizeof line, f); i++)
		if (strstr(line, " T _stext\n"))
			return strtoull(line, NULL, 16);
	return 0;
}

static bool is_one_of(const char *line, const char *const *names)
{
	const char *name = strchr(line, ' ');
	size_t len;

	name = name && name[1] ? name + 3 : "";
	len = strcspn(name, "\t\n");
	for (; *names; names++)
		if (strlen(*names) == len && memcmp(*names, name, len) == 0)
			return true;
	return false;
}

size_t synthesize_find_functions(const char *path, const char *const *names, size_t cap,
				 struct ingest_code *ret)
{
	CLEANUP(close_file) FILE *f = fopen(path, "re");
	size_t wanted = 0, count = 0;
	bool is_open = false; /* the end of the last function is unknown */
	char line[512];

	while (names[wanted])
		wanted++;
	while (f && (count < wanted || is_open) && fgets(line, sizeof line, f)) {
		uint64_t address = strtoull(line, NULL, 16);

		if (is_open && address > ret[count - 1].start) {
			ret[count - 1].end = address;
			is_open = false;
		}
		if (count < cap && address && is_one_of(line, names)) {
			ret[count++] = (struct ingest_code){ address, address };
			is_open = true;
		}
	}
	return count;
}

int synthesize_kernel(const struct synthesize_sink *to, const char *path)
{
	static const char *const names[] = { "_stext", "_etext", NULL };
	static const unsigned char name[] = "[kernel.kallsyms]_stext";
	struct record r = { .type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL };
	struct ingest_code code[2];

	if (synthesize_find_functions(path, names, 2, code) < 2 || code[0].start >= code[1].start)
		return 0;
	r.mmap = (struct record_mmap){
		.pid = UINT32_MAX,
		.start = code[0].start,
		.len = code[1].start - code[0].start,
		.offset = code[0].start,
		.path = { name, sizeof name - 1 },
	};
	return to->put(to->context, &r);
}
