/* SPDX-License-Identifier: MIT */
#include "source/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output/destination.h"
#include "base/path.h"
#include "format/pprof/journal.h"

#define EVERY_NS NS_PER_S
#define REPLACE_MIN_BYTES ((uint64_t)256 << 10) /* smaller ones are not replaced */
#define NAMES_MAX 1000
#define UNNAMED "auger.pb.gz" /* for standard output */

enum place { PLACE_OUTPUT, PLACE_TMPDIR, PLACE_TMP, PLACES };

/* What is beside the output. */
enum fit { FIT_NOTHING, FIT_LOCAL, FIT_REMOTE };

/* A spool's file. */
struct file {
	char path[PATH_MAX];
	struct destination to;
	int fd; /* -1: none; locked while we write it */
	dev_t dev;
	ino_t ino; /* of fd */
	struct pprof_journal journal;
	uint64_t len;   /* bytes, of whole records */
	uint64_t whole; /* bytes when it was written whole */
};

struct spool {
	struct profile *p;
	const char *output;
	enum fit fit;
	enum place place;
	struct file file;
	bool has_ended;            /* the file cannot be written any more, nor any other */
	int64_t start_ns, next_ns; /* of clock_mono */
};

static struct file no_file(void)
{
	return (struct file){ .fd = -1, .to.folder = -1 };
}

static void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	destination_close(&f->to);
	pprof_journal_fini(&f->journal);
	*f = no_file();
}

/* Stores which file is open. 0 or -errno. */
static int identify(struct file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

/* Is it what has this name? 0: it is; -ENOENT: it is not; else another errno: not known. */
static int find_named(const struct file *f, const char *name)
{
	struct stat st;

	if (fstatat(f->to.folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return f->dev == st.st_dev && f->ino == st.st_ino ? 0 : -ENOENT;
}

/* Closes it and removes its name; warns when that fails. FUSE would give a file that is
 * open another name. */
static void remove_name(struct file *f, const char *name)
{
	int rc = find_named(f, name);

	close(f->fd);
	f->fd = -1;
	if (rc == 0 && unlinkat(f->to.folder, name, 0) < 0)
		rc = -errno;
	if (rc < 0 && rc != -ENOENT)
		log_msg(LOG_WARN, "record", "%s: a spool is left behind: %s", f->path,
			strerror(-rc));
}

static void file_remove(struct file *f)
{
	if (f->fd >= 0)
		remove_name(f, f->to.name);
	file_close(f);
}

/* Appends what is new in the profile. On failure the file ends with its last whole record. */
static int file_append(struct file *f, const struct profile *p, struct err *e)
{
	CLEANUP(buf_fini) struct buf bytes = { 0 };
	int rc = pprof_journal_put(&f->journal, p, &bytes, e);

	if (rc < 0)
		return rc;
	if (bytes.len)
		rc = file_write_all(f->fd, bytes.data, bytes.len);
	if (rc == 0) {
		f->len += bytes.len;
		return 0;
	}
	if (ftruncate(f->fd, (off_t)f->len) < 0)
		log_msg(LOG_DEBUG, "spool", "%s: %s", f->path, strerror(errno));
	errno = -rc;
	return err_errno(e, "%s", f->path);
}

static int write_whole(struct file *f, const struct profile *p, struct err *e)
{
	int rc = file_append(f, p, e);

	f->whole = f->len;
	return rc;
}

static void put_base(struct buf *out, const char *output, enum place place)
{
	const char *name = strcmp(output, "-") == 0 ? UNNAMED : path_base(output);
	const char *folder = place == PLACE_TMPDIR ? getenv("TMPDIR") : "/tmp";

	if (place == PLACE_OUTPUT)
		buf_put_str(out, output);
	else
		buf_printf(out, "%s/%s", folder && *folder ? folder : "/tmp", name);
}

/* One of an earlier recording that was interrupted? */
static void mention_older(const struct destination *to, const char *path)
{
	int fd = openat(to->folder, to->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (S_ISREG(to->st.st_mode) && to->st.st_uid == geteuid() &&
	    flock(fd, LOCK_SH | LOCK_NB) == 0)
		log_msg(LOG_WARN, "record",
			"%s is left of a recording that was interrupted; "
			"'auger record --recover %s' makes its profile",
			path, path);
	close(fd);
}

/* f->path under its name, which nobody has yet: -EEXIST. */
static int create(struct file *f, bool is_first, struct err *e)
{
	int rc = destination_open(f->path, &f->to, e);

	if (rc < 0)
		return rc;
	if (f->to.is_there) {
		if (is_first)
			mention_older(&f->to, f->path);
		destination_close(&f->to);
		return -EEXIST;
	}
	f->fd = openat(f->to.folder, f->to.name,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
	rc = f->fd < 0 ? -errno : identify(f);
	if (rc == 0) {
		flock(f->fd, LOCK_EX | LOCK_NB);
		return 0;
	}
	if (f->fd >= 0) {
		unlinkat(f->to.folder, f->to.name, 0); /* nobody else had the name */
		close(f->fd);
		f->fd = -1;
	}
	destination_close(&f->to);
	errno = -rc;
	return rc == -EEXIST ? rc : err_errno(e, "%s", f->path);
}

/* Another user may have the name in /tmp. */
static bool is_taken(int rc, enum place place)
{
	return rc == -EEXIST || (rc == -EACCES && place != PLACE_OUTPUT);
}

/* A new file in a place, with all of the profile. */
static int begin_in(const struct spool *s, enum place place, struct file *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf base = { 0 };
	struct file f = no_file();
	int rc = -EEXIST;

	put_base(&base, s->output, place);
	if (buf_error(&base) < 0)
		return err_nomem(e);
	for (unsigned i = 1; i <= NAMES_MAX && is_taken(rc, place); i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof number, ".%u", i);
		if (snprintf(f.path, sizeof f.path, "%s%s" SPOOL_ENDING, base.data, number) >=
		    (int)sizeof f.path)
			return err_set(e, -ENAMETOOLONG, "%s: name too long", base.data);
		rc = create(&f, i == 1 && place == PLACE_OUTPUT, e);
	}
	if (rc < 0)
		return rc;
	rc = write_whole(&f, s->p, e);
	if (rc < 0)
		file_remove(&f);
	else
		*ret = f;
	return rc;
}

static enum fit fit_of(const char *output)
{
	struct destination to;
	struct err ignored;
	enum fit fit = FIT_NOTHING;

	if (strcmp(output, "-") == 0 || destination_open(output, &to, &ignored) < 0)
		return fit;
	if (!destination_is_direct(&to))
		fit = destination_is_remote(&to) ? FIT_REMOTE : FIT_LOCAL;
	destination_close(&to);
	return fit;
}

/* In the first place from s->place on where it can be. */
static int begin(struct spool *s, struct file *ret, struct err *e)
{
	int rc = -ENOENT;

	for (; s->place < PLACES; s->place++) {
		if (s->place == PLACE_OUTPUT && s->fit != FIT_LOCAL)
			continue;
		rc = begin_in(s, s->place, ret, e);
		if (rc == 0)
			return 0;
	}
	return rc;
}

/* It cannot be written any more, for the reason in e. */
static void move_on(struct spool *s, struct err *e)
{
	struct file next = no_file();
	struct err reason = *e;

	s->place++;
	s->has_ended = begin(s, &next, e) < 0;
	if (s->has_ended) {
		log_msg(LOG_WARN, "record", "the spool ends here: %s", reason.msg);
		return;
	}
	log_msg(LOG_WARN, "record", "the spool goes on as %s: %s", next.path, reason.msg);
	file_remove(&s->file);
	s->file = next;
}

/* What replaces it has no name until it is whole, where the file system can do that. */
static int open_unnamed(const struct file *f, const char *name)
{
	char link[64];
	int fd = openat(f->to.folder, ".", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (fd >= 0 && access(link, F_OK) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return openat(f->to.folder, name,
		      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
}

static int give_name(const struct file *f, const char *name)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", f->fd);
	if (find_named(f, name) < 0 &&
	    linkat(AT_FDCWD, link, f->to.folder, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return renameat(f->to.folder, name, f->to.folder, f->to.name) < 0 ? -errno : 0;
}

/* By one without repetitions. When that fails the old one goes on. */
static void replace(struct spool *s)
{
	struct file *f = &s->file, next = *f;
	char name[NAME_MAX + 1];
	struct err e;

	f->whole = f->len;
	next.journal = (struct pprof_journal){ 0 };
	next.len = 0;
	if (snprintf(name, sizeof name, "%s.%d", f->to.name, (int)getpid()) >= (int)sizeof name)
		return;
	next.fd = open_unnamed(f, name);
	if (next.fd < 0)
		return;
	flock(next.fd, LOCK_EX | LOCK_NB);
	if (identify(&next) < 0) {
		unlinkat(f->to.folder, name, 0); /* where it has the name, nobody else had it */
		close(next.fd);
		return;
	}
	if (write_whole(&next, s->p, &e) == 0 && give_name(&next, name) == 0) {
		close(f->fd);
		pprof_journal_fini(&f->journal);
		*f = next;
		return;
	}
	remove_name(&next, name);
	pprof_journal_fini(&next.journal);
}

/* Was it removed, or its folder? */
static bool is_gone(const struct file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 && st.st_nlink == 0;
}

static void write_new(struct spool *s)
{
	struct file *f = &s->file;
	struct err e;
	int rc;

	if (s->has_ended)
		return;
	rc = file_append(f, s->p, &e);
	if (rc == 0 && is_gone(f))
		rc = err_set(&e, -ENOENT, "%s: was removed", f->path);
	if (rc < 0)
		move_on(s, &e);
	else if (f->len > 2 * f->whole && f->len > REPLACE_MIN_BYTES)
		replace(s);
}

struct spool *spool_new(const char *output, struct profile *p)
{
	struct spool *s = malloc(sizeof *s);
	struct err e = { 0 };

	if (!s)
		return NULL;
	*s = (struct spool){ .p = p, .output = output, .fit = fit_of(output), .file = no_file() };
	s->start_ns = clock_mono_ns();
	s->next_ns = s->start_ns + EVERY_NS;
	s->has_ended = begin(s, &s->file, &e) < 0;
	if (s->has_ended)
		log_msg(LOG_WARN, "record", "no spool: %s", e.msg);
	return s;
}

void spool_step(struct spool *s)
{
	if (clock_mono_ns() < s->next_ns)
		return;
	profile_info(s->p)->duration_ns = clock_mono_ns() - s->start_ns;
	write_new(s);
	s->next_ns = clock_mono_ns() + EVERY_NS;
}

void spool_complete(struct spool *s)
{
	struct file next = no_file();
	struct err e;

	write_new(s);
	if (s->has_ended || s->fit != FIT_REMOTE || begin_in(s, PLACE_OUTPUT, &next, &e) < 0)
		return;
	file_remove(&s->file);
	s->file = next;
}

void spool_free(struct spool *s, bool is_kept)
{
	if (!s)
		return;
	if (is_kept && s->file.fd >= 0) {
		log_msg(LOG_WARN, "record",
			"%s keeps what was sampled; 'auger record --recover %s' makes its profile",
			s->file.path, s->file.path);
		file_close(&s->file);
	}
	file_remove(&s->file);
	free(s);
}

bool spool_is_active(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	bool is_active = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is_active;
}
