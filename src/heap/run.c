/* SPDX-License-Identifier: MIT */
#include "heap/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "heap/folder.h"
#include "heap/host.h"
#include "target/preload.h"
#include "target/runloop.h"
#include "wire/heap.h"

#define REMOVE_TRIES 3  /* a process that is ending may write its last */
#define EXEC_KBYTES 768 /* memory that an exec itself touches */

static int make_folder(struct heap_run *r, struct err *e)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/" HEAP_FOLDER_NAME, heap_folder_parent()) >=
	    (int)sizeof path)
		return err_set(e, -ENAMETOOLONG, "TMPDIR: the name is too long");
	if (!mkdtemp(path))
		return err_errno(e, "%s", path);
	memcpy(r->folder, path, sizeof path);
	return 0;
}

/* What the child needs for its environment. */
struct environment {
	const struct heap_run_opts *opts;
	const char *folder;
	char library[PATH_MAX];
};

static bool set_number(const char *name, unsigned long long number)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", number);
	return setenv(name, text, 1) == 0;
}

/* In the child, before its exec: our own processes are not recorded. 0 or an errno. */
static int set_environment(void *context)
{
	const struct environment *env = context;
	const struct heap_run_opts *o = env->opts;

	if (setenv(HEAP_ENV_DIR, env->folder, 1) < 0 ||
	    !set_number(HEAP_ENV_SAMPLE, o->sample_bytes) ||
	    !set_number(HEAP_ENV_EXACT, o->is_exact) ||
	    !set_number(HEAP_ENV_MMAP, o->has_mappings) ||
	    (o->is_alone && !set_number(HEAP_ENV_ONLY, (unsigned long long)getpid())) ||
	    (o->has_python && setenv("PYTHONMALLOC", "malloc", 1) < 0))
		return errno;
	return -preload_set(env->library);
}

/* Of a command that needs little, the peak is that of the child before its exec. */
static int64_t peak_rss_bytes(const struct launch *l)
{
	long kbytes = l->usage.ru_maxrss;

	return kbytes > l->peak_kbytes + EXEC_KBYTES ? kbytes * INT64_C(1024) : 0;
}

static int run_command(const struct heap_run_opts *o, struct environment *env, struct heap_run *r,
		       struct err *e)
{
	const struct launch_opts command = { .argv = o->argv,
					     .owns_stdout = o->owns_stdout,
					     .prepare = set_environment,
					     .context = env };
	struct runloop loop;
	int rc = runloop_open(&loop, e);

	loop.second_signal = RUNLOOP_PASS_ON;
	if (rc == 0)
		rc = runloop_prepare(&loop, &command, e);
	r->pid = runloop_pid(&loop);
	r->start_ns = clock_wall_ns();
	if (rc == 0)
		rc = runloop_start(&loop, e);
	while (rc == 0 && runloop_step(&loop, o->tick ? NS_PER_S : RUNLOOP_FOREVER))
		if (o->tick)
			o->tick(o->context, r->folder);
	r->duration_ns = clock_wall_ns() - r->start_ns;
	r->is_no_exec = runloop_exec_error(&loop) != 0;
	if (runloop_reap(&loop, 0))
		r->peak_rss_bytes = peak_rss_bytes(&loop.commands[0]);
	r->status = runloop_status(&loop);
	runloop_close(&loop);
	return rc;
}

int heap_run(const struct heap_run_opts *o, struct heap_run *ret, struct err *e)
{
	struct environment env = { .opts = o, .folder = ret->folder };
	int rc = heap_check_host(o->argv[0], e);

	*ret = (struct heap_run){ 0 };
	if (rc == 0 && !preload_find(HEAP_LIBRARY, env.library))
		rc = err_set(e, -ENOENT, HEAP_LIBRARY " is not installed");
	if (rc == 0)
		rc = make_folder(ret, e);
	if (rc == 0)
		rc = run_command(o, &env, ret, e);
	return rc;
}

/* 0 or -errno. */
static int remove_folder(const char *path)
{
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	heap_folder_clear(fd);
	return rmdir(path) < 0 ? -errno : 0;
}

void heap_run_fini(struct heap_run *r, bool is_kept)
{
	int rc = r->folder[0] && !is_kept ? -EAGAIN : 0;

	for (int i = 0; i < REMOVE_TRIES && rc < 0; i++)
		rc = remove_folder(r->folder);
	if (rc < 0)
		log_msg(LOG_WARN, "heap", "%s is left: %s", r->folder, strerror(-rc));
	*r = (struct heap_run){ 0 };
}
