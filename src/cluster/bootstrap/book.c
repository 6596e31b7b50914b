/* SPDX-License-Identifier: MIT */
/*
 * An address book: a folder on storage that all nodes share, with one file a rank,
 * auger.GENERATION.RANK, which holds "auger-overlay 1 SIZE TEXT". Files of other generations are
 * of other jobs. What is read is only believed as far as an address goes: who answers there has to
 * prove the secret.
 */
#include "cluster/bootstrap/book.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/number.h"
#include "base/output/outfile.h"
#include "base/str.h"
#include "cluster/bootstrap/way.h"
#include "cluster/mac.h"

#define MAGIC "auger-overlay 1 "
#define MAX_GENERATION 64
#define MAX_NAMED 8 /* missing ranks that a message names */
#define FIRST_POLL_NS (NS_PER_S / 200)
#define LAST_POLL_NS (NS_PER_S / 4)

struct book {
	char *path; /* of the folder; owned */
	int folder;
	char prefix[MAX_GENERATION + 8]; /* "auger.GENERATION." */
	char name[MAX_GENERATION + 24];  /* of this rank's file; "": it is not written */
	struct buf text;                 /* of it */
};

void book_print(struct buf *b, uint32_t size, const char *text)
{
	buf_printf(b, MAGIC "%u %s\n", size, text);
}

bool book_parse(struct str file, uint32_t *ret_size, char ret[BOOTSTRAP_TEXT])
{
	uint64_t size;
	size_t digits;

	if (!str_starts_with(file, MAGIC) || !str_ends_with(file, "\n"))
		return false;
	file = str_part(file, strlen(MAGIC), file.len - 1);
	digits = number_parse(file.ptr, file.len, &size);
	if (!digits || file.ptr[0] == '0' || size > UINT32_MAX || digits + 2 > file.len ||
	    file.ptr[digits] != ' ')
		return false;
	file = str_part(file, digits + 1, file.len);
	if (file.len >= BOOTSTRAP_TEXT)
		return false;
	for (size_t i = 0; i < file.len; i++)
		if (file.ptr[i] <= ' ' || file.ptr[i] > '~')
			return false;
	memcpy(ret, file.ptr, file.len);
	ret[file.len] = '\0';
	*ret_size = (uint32_t)size;
	return true;
}

static bool book_is_offered(const struct bootstrap_config *config)
{
	return config->address_book != NULL;
}

static int set_prefix(struct book *k, const struct bootstrap_config *config, struct err *e)
{
	static const char label[] = "auger overlay generation";
	char text[2 * 8 + 1];
	const char *generation = config->generation;
	unsigned char sum[ENVELOPE_MAC] = { 0 };
	struct hmac_key key = { { 0 } };
	struct envelope_mac mac = hmac_mac(&key);

	if (!generation) {
		if (!config->secret)
			return err_set(e, -EACCES,
				       "an address book needs a file with the job's secret");
		memcpy(key.bytes, config->secret->bytes, sizeof(key.bytes));
		mac.sign(mac.self, label, sizeof(label), sum);
		explicit_bzero(&key, sizeof(key));
		number_print_hex(text, sum, 8);
		generation = text;
	}
	if (!*generation || strlen(generation) > MAX_GENERATION ||
	    strspn(generation,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
		    strlen(generation))
		return err_set(e, -EINVAL,
			       "generation '%.80s' of an address book has 1 to %d letters, digits, "
			       "'-' and '_'",
			       generation, MAX_GENERATION);
	snprintf(k->prefix, sizeof(k->prefix), "auger.%s.", generation);
	return 0;
}

/* Others may not replace what is there. */
static int open_folder(struct book *k, struct err *e)
{
	struct stat st;

	if (mkdir(k->path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, "address book '%s'", k->path);
	k->folder = open(k->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->folder < 0 || fstat(k->folder, &st) < 0)
		return err_errno(e, "address book '%s'", k->path);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(
			e, -EACCES,
			"address book '%s' can be written by others: it must be this user's, "
			"of mode 0700 or 0755",
			k->path);
	return 0;
}

static int book_open(const struct bootstrap_config *config, struct bootstrap *b, struct err *e)
{
	struct book *k = calloc(1, sizeof(*k));

	if (!k)
		return err_nomem(e);
	b->data = k;
	b->rank = config->rank;
	b->size = config->size;
	k->folder = -1;
	k->path = strdup(config->address_book);
	if (!k->path)
		return err_nomem(e);
	if (!b->size)
		return err_set(e, -EINVAL,
			       "an address book needs the rank and the number of ranks");
	return set_prefix(k, config, e) < 0 ? e->code : open_folder(k, e);
}

static int publish(struct bootstrap *b, const char *own, struct err *e)
{
	struct book *k = b->data;
	CLEANUP(buf_fini) struct buf path = { 0 };
	char name[sizeof(k->name)];

	snprintf(name, sizeof(name), "%s%u", k->prefix, b->rank);
	buf_printf(&path, "%s/%s", k->path, name);
	book_print(&k->text, b->size, own);
	if (buf_error(&path) < 0 || buf_error(&k->text) < 0)
		return err_nomem(e);
	if (outfile_replace_at(k->folder, name, path.data, k->text.data, k->text.len, e) < 0)
		return e->code;
	memcpy(k->name, name, sizeof(name));
	return 0;
}

static int bad_file(const char *path, const char *name, struct err *e)
{
	return err_set(e, -EINVAL, "'%s/%s' is no address of a node", path, name);
}

/* The text of a rank's file. path: of the folder, for messages. */
static int read_file(int folder, const char *path, const char *name, uint32_t size,
		     char ret[BOOTSTRAP_TEXT], struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(fd_close) int fd = -1;
	struct stat st;
	uint32_t written;

	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s/%s'", path, name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return bad_file(path, name, e);
	if (file_read(fd, name, 2 * BOOTSTRAP_TEXT, &text, e) < 0)
		return e->code;
	if (!book_parse((struct str){ text.data, text.len }, &written, ret))
		return bad_file(path, name, e);
	if (written != size)
		return err_set(e, -EINVAL, "'%s/%s' is of a job with %u nodes, this one has %u",
			       path, name, written, size);
	return 0;
}

/* What is known of the ranks while the exchange runs. */
struct search {
	struct bootstrap *b;
	const bool *wants;
	bootstrap_set *set;
	void *self;
	bool *is_known; /* [size] */
	uint32_t missing;
};

static int found(struct search *s, const char *name, struct err *e)
{
	const struct book *k = s->b->data;
	const char *digits = name + strlen(k->prefix);
	char text[BOOTSTRAP_TEXT];
	uint64_t rank;

	if (!text_starts_with(name, k->prefix) ||
	    number_parse(digits, strlen(digits), &rank) != strlen(digits) || !*digits ||
	    rank >= s->b->size || s->is_known[rank])
		return 0;
	if (s->wants[rank] && (read_file(k->folder, k->path, name, s->b->size, text, e) < 0 ||
			       s->set(s->self, (uint32_t)rank, text, e) < 0))
		return e->code == -ENOENT ? 0 : e->code; /* it has just been removed */
	s->is_known[rank] = true;
	s->missing--;
	return 0;
}

/* The folder is opened each time, because NFS checks on open(2) whether it has changed. */
static int look(struct search *s, struct err *e)
{
	const struct book *k = s->b->data;
	const struct dirent *entry;
	DIR *folder = opendir(k->path);
	int rc = 0;

	if (!folder)
		return err_errno(e, "address book '%s'", k->path);
	while (rc == 0 && (entry = readdir(folder)))
		rc = found(s, entry->d_name, e);
	closedir(folder);
	return rc;
}

static int report_missing(const struct search *s, struct err *e)
{
	const struct book *k = s->b->data;
	CLEANUP(buf_fini) struct buf names = { 0 };
	uint32_t named = 0;

	for (uint32_t i = 0; i < s->b->size && named < MAX_NAMED; i++)
		if (!s->is_known[i])
			buf_printf(&names, named++ ? ", %u" : "%u", i);
	if (s->missing > named)
		buf_printf(&names, " and %u more", s->missing - named);
	if (buf_error(&names) < 0)
		return err_nomem(e);
	return err_set(e, -ETIMEDOUT,
		       "of %u ranks, %s did not write to address book '%s' in %.0f s", s->b->size,
		       names.data, k->path, (double)s->b->join_ns / 1e9);
}

static int book_exchange(struct bootstrap *b, const char *own, const bool *wants,
			 bootstrap_set *set, void *self, struct err *e)
{
	struct search s = { .b = b,
			    .wants = wants,
			    .set = set,
			    .self = self,
			    .is_known = calloc(b->size, sizeof(*s.is_known)),
			    .missing = b->size };
	int64_t end = clock_mono_ns() + b->join_ns, rest = FIRST_POLL_NS;
	int rc = s.is_known ? publish(b, own, e) : err_nomem(e);

	while (rc == 0) {
		rc = look(&s, e);
		if (rc < 0 || !s.missing)
			break;
		if (clock_mono_ns() >= end) {
			rc = report_missing(&s, e);
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = rest }, NULL);
		rest = 2 * rest < LAST_POLL_NS ? 2 * rest : LAST_POLL_NS;
	}
	free(s.is_known);
	return rc;
}

struct book_lookup {
	struct bootstrap_lookup base;
	int folder;
	uint32_t size;
	char name[MAX_GENERATION + 24];
};

static bool run_lookup(const struct bootstrap_lookup *base, char ret[BOOTSTRAP_TEXT])
{
	const struct book_lookup *l = (const struct book_lookup *)base;
	struct err e;

	return read_file(l->folder, "address book", l->name, l->size, ret, &e) == 0;
}

static void free_lookup(struct bootstrap_lookup *base)
{
	struct book_lookup *l = (struct book_lookup *)base;

	close(l->folder);
	free(l);
}

static struct bootstrap_lookup *book_lookup(const struct bootstrap *b, uint32_t rank)
{
	const struct book *k = b->data;
	struct book_lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct book_lookup){ .base = { .run = run_lookup, .free = free_lookup },
				   .folder = fcntl(k->folder, F_DUPFD_CLOEXEC, 0),
				   .size = b->size };
	snprintf(l->name, sizeof(l->name), "%s%u", k->prefix, rank);
	if (l->folder >= 0)
		return &l->base;
	free(l);
	return NULL;
}

/* Removes this rank's file, unless the rank has been started again and wrote it. */
static void remove_own(const struct book *k)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(fd_close) int fd = -1;
	struct err e;

	fd = openat(k->folder, k->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || file_read(fd, k->name, 2 * BOOTSTRAP_TEXT, &text, &e) < 0)
		return;
	if (text.len == k->text.len && memcmp(text.data, k->text.data, text.len) == 0)
		unlinkat(k->folder, k->name, 0);
}

static void book_close(struct bootstrap *b)
{
	struct book *k = b->data;

	if (!k)
		return;
	if (*k->name)
		remove_own(k);
	if (k->folder >= 0)
		close(k->folder);
	buf_fini(&k->text);
	free(k->path);
	free(k);
}

const struct bootstrap_way bootstrap_book = {
	.name = "address book",
	.is_offered = book_is_offered,
	.open = book_open,
	.exchange = book_exchange,
	.lookup = book_lookup,
	.close = book_close,
};
