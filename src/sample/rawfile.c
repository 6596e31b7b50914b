/* SPDX-License-Identifier: MIT */
#include "sample/rawfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compat/compat.h"
#include "base/file.h"
#include "base/output/outfile.h"

#define MAGIC "PERFILE2"
#define HEADER_BYTES 104
#define FLUSH_BYTES ((size_t)1 << 20) /* written at once */
#define STRING_ALIGN 64
#define TYPE_FINISHED_ROUND 68

/* Numbers of the header features (HEADER_*). */
enum {
	PART_HOSTNAME = 3,
	PART_OSRELEASE = 4,
	PART_VERSION = 5,
	PART_ARCH = 6,
	PART_NRCPUS = 7,
	PART_CMDLINE = 11,
	PART_EVENT_DESC = 12
};

struct rawfile {
	struct outfile file;
	struct buf buf;    /* not written yet */
	uint64_t written;  /* bytes */
	struct err failed; /* the first; code 0: none */
};

/* A part of the file. */
struct section {
	uint64_t offset, size;
};

int rawfile_open(const char *path, struct rawfile **ret, struct err *e)
{
	static const char zeros[HEADER_BYTES];
	struct rawfile *r = calloc(1, sizeof *r);
	int rc;

	if (!r)
		return err_nomem(e);
	rc = outfile_begin(path, &r->file, e);
	if (rc < 0) {
		free(r);
		return rc;
	}
	buf_put(&r->buf, zeros, sizeof zeros);
	*ret = r;
	return 0;
}

void rawfile_free(struct rawfile *r)
{
	if (!r)
		return;
	outfile_discard(&r->file);
	buf_fini(&r->buf);
	free(r);
}

static void flush(struct rawfile *r)
{
	int rc = buf_error(&r->buf);

	if (rc == 0 && r->buf.len)
		rc = file_write_all(r->file.fd, r->buf.data, r->buf.len);
	if (rc < 0 && !r->failed.code)
		err_set(&r->failed, rc, "%s: %s", r->file.path, strerror(-rc));
	r->written += r->buf.len;
	buf_clear(&r->buf);
}

static void flush_some(struct rawfile *r)
{
	if (r->buf.len >= FLUSH_BYTES)
		flush(r);
}

/*
 * Our events request no build ids. When another recorder's do, the kernel (to 6.18) sets the flag
 * in our records, too, and perf aborts on it.
 */
static void clear_build_id_mark(unsigned char *bytes)
{
	struct perf_event_header h;

	memcpy(&h, bytes, sizeof h);
	if (h.type != PERF_RECORD_MMAP2)
		return;
	h.misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
	memcpy(bytes, &h, sizeof h);
}

void rawfile_put(struct rawfile *r, const unsigned char *bytes, size_t len)
{
	size_t start = r->buf.len;

	if (r->failed.code)
		return;
	buf_put(&r->buf, bytes, len);
	if (buf_error(&r->buf) == 0 && len >= sizeof(struct perf_event_header))
		clear_build_id_mark((unsigned char *)r->buf.data + start);
	flush_some(r);
}

/* Pads the record that began at start and writes its length into its header. */
static void end_record(struct buf *b, size_t start, size_t id_bytes)
{
	static const char zeros[64];
	uint16_t size;

	buf_put(b, zeros, -(b->len - start) & 7);
	buf_put(b, zeros, id_bytes);
	if (buf_error(b) < 0)
		return;
	size = (uint16_t)(b->len - start);
	memcpy(b->data + start + 6, &size, sizeof size);
}

static void put_header(struct buf *b, uint32_t type, uint16_t misc)
{
	buf_put_u32(b, type);
	buf_put_u32(b, misc); /* the length comes later */
}

static void put_text(struct buf *b, const struct record_bytes *text)
{
	buf_put(b, text->bytes, text->len);
	buf_put_byte(b, 0);
}

static void put_mmap(struct buf *b, uint32_t type, const struct record_mmap *m)
{
	buf_put_u32(b, m->pid);
	buf_put_u32(b, m->tid);
	buf_put_u64(b, m->start);
	buf_put_u64(b, m->len);
	buf_put_u64(b, m->offset);
	if (type == PERF_RECORD_MMAP2) {
		buf_put_u32(b, m->major);
		buf_put_u32(b, m->minor);
		buf_put_u64(b, m->ino);
		buf_put_u64(b, m->ino_generation);
		buf_put_u32(b, m->prot);
		buf_put_u32(b, m->flags);
	}
	put_text(b, &m->path);
}

void rawfile_put_synthesized(struct rawfile *r, const struct record *record, size_t id_bytes)
{
	size_t start = r->buf.len;

	if (r->failed.code)
		return;
	put_header(&r->buf, record->type, record->misc);
	if (record->type == PERF_RECORD_COMM) {
		buf_put_u32(&r->buf, record->comm.pid);
		buf_put_u32(&r->buf, record->comm.tid);
		put_text(&r->buf, &record->comm.name);
	} else if (record->type == PERF_RECORD_LOST_SAMPLES) {
		buf_put_u64(&r->buf, record->lost.count);
	} else {
		put_mmap(&r->buf, record->type, &record->mmap);
	}
	end_record(&r->buf, start, id_bytes);
	flush_some(r);
}

void rawfile_end_round(struct rawfile *r)
{
	size_t start = r->buf.len;

	put_header(&r->buf, TYPE_FINISHED_ROUND, 0);
	end_record(&r->buf, start, 0);
}

static void put_string(struct buf *b, const char *text)
{
	size_t len = strlen(text) + 1;
	size_t padded = (len + STRING_ALIGN - 1) / STRING_ALIGN * STRING_ALIGN;

	buf_put_u32(b, (uint32_t)padded);
	buf_put(b, text, len);
	for (size_t i = len; i < padded; i++)
		buf_put_byte(b, 0);
}

static void put_event_desc(struct buf *b, const struct rawfile_event *events, size_t count)
{
	buf_put_u32(b, (uint32_t)count);
	buf_put_u32(b, sizeof events->attr);
	for (size_t i = 0; i < count; i++) {
		buf_put(b, &events[i].attr, sizeof events[i].attr);
		buf_put_u32(b, (uint32_t)events[i].id_count);
		put_string(b, events[i].name);
		buf_put(b, events[i].ids, events[i].id_count * sizeof *events[i].ids);
	}
}

static void put_cmdline(struct buf *b, char *const *argv)
{
	uint32_t count = 0;

	while (argv && argv[count])
		count++;
	buf_put_u32(b, count + 2);
	put_string(b, "auger");
	put_string(b, "record");
	for (uint32_t i = 0; i < count; i++)
		put_string(b, argv[i]);
}

static void put_part(struct buf *b, unsigned part, const struct utsname *host,
		     const struct rawfile_event *events, size_t event_count, char *const *argv)
{
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

	switch (part) {
	case PART_HOSTNAME:
		put_string(b, host->nodename);
		break;
	case PART_OSRELEASE:
		put_string(b, host->release);
		break;
	case PART_VERSION:
		put_string(b, "auger " AUGER_VERSION);
		break;
	case PART_ARCH:
		put_string(b, host->machine);
		break;
	case PART_NRCPUS:
		buf_put_u32(b, cpus);
		buf_put_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
		break;
	case PART_CMDLINE:
		put_cmdline(b, argv);
		break;
	default:
		put_event_desc(b, events, event_count);
	}
}

/* Behind the data: where each part is, then the parts. Returns their bits. */
static uint64_t put_parts(struct rawfile *r, const struct rawfile_event *events, size_t event_count,
			  char *const *argv)
{
	static const unsigned parts[] = { PART_HOSTNAME, PART_OSRELEASE, PART_VERSION,   PART_ARCH,
					  PART_NRCPUS,   PART_CMDLINE,   PART_EVENT_DESC };
	struct section sections[ARRAY_LEN(parts)];
	struct buf body = { 0 };
	struct utsname host = { 0 };
	uint64_t start = r->written + sizeof sections, bits = 0;

	uname(&host);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		sections[i].offset = start + body.len;
		put_part(&body, parts[i], &host, events, event_count, argv);
		sections[i].size = start + body.len - sections[i].offset;
		bits |= UINT64_C(1) << parts[i];
	}
	buf_put(&r->buf, sections, sizeof sections);
	buf_put(&r->buf, body.data, body.len);
	if (buf_error(&body) < 0)
		err_nomem(&r->failed);
	buf_fini(&body);
	flush(r);
	return bits;
}

/* The ids of all events, then the events. */
static struct section put_attrs(struct rawfile *r, const struct rawfile_event *events, size_t count)
{
	struct section attrs = { 0 };
	uint64_t at = r->written;

	for (size_t i = 0; i < count; i++)
		buf_put(&r->buf, events[i].ids, events[i].id_count * sizeof *events[i].ids);
	attrs.offset = r->written + r->buf.len;
	for (size_t i = 0; i < count; i++) {
		buf_put(&r->buf, &events[i].attr, sizeof events[i].attr);
		buf_put_u64(&r->buf, at);
		buf_put_u64(&r->buf, events[i].id_count * sizeof *events[i].ids);
		at += events[i].id_count * sizeof *events[i].ids;
	}
	attrs.size = r->written + r->buf.len - attrs.offset;
	flush(r);
	return attrs;
}

static void put_file_header(struct rawfile *r, struct section attrs, struct section data,
			    uint64_t parts)
{
	buf_put_str(&r->buf, MAGIC);
	buf_put_u64(&r->buf, HEADER_BYTES);
	buf_put_u64(&r->buf, sizeof(struct perf_event_attr) + sizeof(struct section));
	buf_put(&r->buf, &attrs, sizeof attrs);
	buf_put(&r->buf, &data, sizeof data);
	buf_put(&r->buf, &(struct section){ 0 }, sizeof(struct section));
	buf_put_u64(&r->buf, parts);
	for (int i = 1; i < 4; i++)
		buf_put_u64(&r->buf, 0);
	if (lseek(r->file.fd, 0, SEEK_SET) < 0 && !r->failed.code)
		err_errno(&r->failed, "%s", r->file.path);
	flush(r);
}

int rawfile_finish(struct rawfile *r, const struct rawfile_event *events, size_t event_count,
		   char *const *argv, struct err *e)
{
	struct section data = { .offset = HEADER_BYTES }, attrs;
	uint64_t parts;
	int rc;

	flush(r);
	data.size = r->written - HEADER_BYTES;
	parts = put_parts(r, events, event_count, argv);
	attrs = put_attrs(r, events, event_count);
	put_file_header(r, attrs, data, parts);
	if (r->failed.code) {
		*e = r->failed;
		return e->code;
	}
	rc = outfile_sync(&r->file, e);
	return rc < 0 ? rc : outfile_commit(&r->file, false, e);
}
