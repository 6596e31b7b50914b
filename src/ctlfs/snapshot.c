/* SPDX-License-Identifier: MIT */
#include "ctlfs/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/gperftools/gperftools.h"
#include "format/pprof/pprof.h"
#include "model/merge.h"

struct snapshot {
	enum snapshot_kind kind;
	snapshot_namer *name;
	int done_fd;
	struct profile *profile;
	uint64_t total, user; /* SNAPSHOT_HISTOGRAM */
	char **files;         /* [file_count]: paths of fds, by mapping */
	int *fds;             /* [file_count] */
	size_t file_count;
	pthread_t thread;
	/* owned by the thread until is_done: */
	struct buf out;
	struct err e;
	int rc;
	atomic_bool is_done;
};

static void snapshot_free(struct snapshot *s)
{
	for (size_t i = 0; s->files && s->fds && i < s->file_count; i++) {
		if (s->files[i] && s->fds[i] >= 0)
			close(s->fds[i]);
		free(s->files[i]);
	}
	free(s->files);
	free(s->fds);
	profile_free(s->profile);
	buf_fini(&s->out);
	free(s);
}

/* The file of the same mapping in the original profile; NULL: none. */
static const char *find_file(const struct profile *from, const char *const *files,
			     const struct profile *to, const struct mapping *m)
{
	for (uint32_t id = 1; id < profile_mapping_count(from); id++) {
		const struct mapping *f = profile_get_mapping(from, id);

		if (files[id] && f->start == m->start && f->offset == m->offset &&
		    strcmp(profile_text(from, f->path), profile_text(to, m->path)) == 0 &&
		    strcmp(profile_text(from, f->build_id), profile_text(to, m->build_id)) == 0)
			return files[id];
	}
	return NULL;
}

/* Duplicates the descriptors: the session may close its own while the thread reads. */
static int take_files(struct snapshot *s, const struct profile *from, const char *const *files)
{
	s->file_count = profile_mapping_count(s->profile);
	s->files = calloc(s->file_count, sizeof *s->files);
	s->fds = calloc(s->file_count, sizeof *s->fds);
	if (!s->files || !s->fds)
		return -ENOMEM;
	for (uint32_t id = 1; id < s->file_count; id++) {
		const char *file =
			find_file(from, files, s->profile, profile_get_mapping(s->profile, id));
		char path[32];

		s->fds[id] = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
		if (s->fds[id] < 0)
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%d", s->fds[id]);
		s->files[id] = strdup(path);
		if (!s->files[id]) {
			close(s->fds[id]);
			return -ENOMEM;
		}
	}
	return 0;
}

static int copy_profile(struct snapshot *s, struct session *session, struct err *e)
{
	const char *const *files;
	const struct profile *from = tracer_profile(session->tracer, &files);
	int rc;

	s->profile = profile_new();
	if (!from || !s->profile)
		return err_nomem(e);
	rc = profile_merge(s->profile, from, NULL, 0, e);
	if (rc < 0)
		return rc;
	return take_files(s, from, files) < 0 ? err_nomem(e) : 0;
}

static int copy_ticks(struct snapshot *s, const struct session *session, struct err *e)
{
	s->profile = histogram_profile(&session->histogram);
	s->total = session->histogram.total;
	s->user = session->histogram.user;
	return s->profile ? profile_check(s->profile, e) : err_nomem(e);
}

static int make(struct snapshot *s)
{
	int rc = s->name(s->profile, (const char *const *)s->files, &s->e);

	if (rc < 0)
		return rc;
	switch (s->kind) {
	case SNAPSHOT_PPROF:
		rc = format_pprof.write(s->profile, &s->out, &s->e);
		break;
	case SNAPSHOT_GPERFTOOLS:
		rc = gperftools_symbols_write(s->profile, &s->out, &s->e);
		break;
	case SNAPSHOT_HISTOGRAM:
		histogram_put(s->profile, s->total, s->user, &s->out);
		break;
	}
	return rc == 0 && buf_error(&s->out) < 0 ? err_nomem(&s->e) : rc;
}

static void *run(void *snapshot)
{
	const uint64_t one = 1;
	struct snapshot *s = snapshot;
	int done_fd = s->done_fd;

	s->rc = make(s);
	atomic_store(&s->is_done, true);
	if (write(done_fd, &one, sizeof one) < 0)
		return NULL; /* the caller polls again soon */
	return NULL;
}

int snapshot_start(enum snapshot_kind kind, struct session *session, snapshot_namer *name,
		   int done_fd, struct snapshot **ret, struct err *e)
{
	struct snapshot *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(e);
	s->kind = kind;
	s->name = name;
	s->done_fd = done_fd;
	rc = kind == SNAPSHOT_HISTOGRAM ? copy_ticks(s, session, e) : copy_profile(s, session, e);
	if (rc == 0) {
		rc = -pthread_create(&s->thread, NULL, run, s);
		if (rc < 0)
			err_set(e, rc, "no thread: %s", strerror(-rc));
	}
	if (rc < 0) {
		snapshot_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

bool snapshot_is_done(const struct snapshot *s)
{
	return atomic_load(&s->is_done);
}

int snapshot_finish(struct snapshot *s, struct buf *ret, struct err *e)
{
	int rc;

	pthread_join(s->thread, NULL);
	rc = s->rc;
	*e = s->e;
	*ret = s->out;
	s->out = (struct buf){ 0 };
	snapshot_free(s);
	return rc;
}
