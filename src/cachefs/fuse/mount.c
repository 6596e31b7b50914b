/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/mount.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/ops.h"
#include "cachefs/fuse/remount.h"
#include "cachefs/fuse/serve.h"
#include "cachefs/store/local.h"
#include "cachefs/store/memory.h"

#define FOR_EVER_S 1e9 /* what the kernel takes for ever: 30 years */
#define BEGIN_ENDS_S 1 /* for a thread that asks storage */

struct serving {
	struct fuse_session *session;
	struct local *local;
	struct cache *cache;
	struct ops_mount mount;
	const struct mount_opts *opts;
	int64_t start_ns;
	bool hangs; /* threads are still in storage */

	pthread_t beginner;
	bool begins;             /* there is that thread */
	sem_t agreed;            /* by the kernel; or it is over */
	_Atomic uint64_t root;   /* as the kernel calls it */
	pthread_mutex_t placing; /* of the mount, and the beginning of the prefetch */
	bool is_over;            /* under placing */
	int begin_rc;
	struct err begin_error;
};

static uint64_t number_of(const struct serving *s, uint64_t node)
{
	return node == (uint64_t)(uintptr_t)cache_root(s->cache) ? s->root : node;
}

static bool forget_unused(void *context)
{
	struct serving *s = context;
	struct mounted mounted;
	struct err e = { 0 };

	return mounted_find(s->opts->view, &mounted, &e) && mounted.daemon == getpid() &&
	       remount_forget_unused(s->opts->view);
}

static void forget_name(void *context, uint64_t parent, const char *name)
{
	struct serving *s = context;

	fuse_lowlevel_notify_inval_entry(s->session, number_of(s, parent), name, strlen(name));
}

/* Kernels before 6.2 can only forget. */
static void doubt_name(void *context, uint64_t parent, const char *name)
{
	struct serving *s = context;

	if (fuse_lowlevel_notify_expire_entry(s->session, number_of(s, parent), name, strlen(name),
					      FUSE_LL_EXPIRE_ONLY) == -ENOSYS)
		forget_name(s, parent, name);
}

static void forget_file(void *context, uint64_t node)
{
	struct serving *s = context;

	fuse_lowlevel_notify_inval_inode(s->session, number_of(s, node), 0, 0);
}

/* The view as a path below the target; NULL when it is not below. */
static const char *below(const char *target, const char *view)
{
	size_t len = strcmp(target, "/") == 0 ? 0 : strlen(target);

	return strncmp(target, view, len) == 0 && view[len] == '/' && view[len + 1] ? view + len + 1
										    : NULL;
}

static int new_session(struct serving *s, const struct mount_opts *o, struct err *e)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char *words = NULL, source[32];
	int rc = fuse_opt_add_arg(&args, "auger");

	/* Who unmounts it waits for us. */
	snprintf(source, sizeof source, "fsname=" MOUNTED_SOURCE "%d", (int)getpid());
	rc |= fuse_opt_add_opt(&words, "ro,nosuid,nodev,subtype=auger,max_read=1048576");
	rc |= fuse_opt_add_opt(&words, source);
	if (!s->mount.checks_access)
		rc |= fuse_opt_add_opt(&words, "default_permissions");
	if (o->has_others)
		rc |= fuse_opt_add_opt(&words, "allow_other");
	rc |= fuse_opt_add_arg(&args, "-o");
	rc |= fuse_opt_add_arg(&args, words ? words : "");
	if (rc == 0)
		s->session = fuse_session_new(&args, &ops_table, sizeof ops_table, &s->mount);
	fuse_opt_free_args(&args);
	free(words);
	return s->session ? 0 : err_set(e, -EINVAL, "libfuse takes no session");
}

static_assert(OPS_MAX_READ == 1048576, "as the mount option in new_session has it");

/* Is it unmounted here, and still mounted somewhere else? What libfuse would unmount then is not
 * ours. */
static bool has_copies(const struct serving *s)
{
	struct pollfd device = { .fd = fuse_session_fd(s->session) };
	struct mounted mounted;
	struct err e = { 0 };

	return poll(&device, 1, 0) == 0 &&
	       !(mounted_find(s->opts->view, &mounted, &e) && mounted.daemon == getpid());
}

/* Who still waits for an answer gets ENOTCONN. To libfuse a pipe that nobody reads looks as its
 * device does behind an unmount: it leaves the place alone. */
static void end_connection(const struct serving *s)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	close(ends[0]);
	dup3(ends[1], fuse_session_fd(s->session), O_CLOEXEC);
	close(ends[1]);
}

/* The kernel reads 128 KiB ahead, whatever a file system says, until somebody who may write there
 * tells it more. Source: Documentation/ABI/testing/sysfs-class-bdi of Linux. */
static void read_farther_ahead(dev_t device)
{
	char path[64], kib[32];
	int fd, len = snprintf(kib, sizeof kib, "%d\n", OPS_MAX_READ / 1024);

	snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(device),
		 minor(device));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, kib, (size_t)len) < 0)
		log_msg(LOG_DEBUG, "cache", "%s: %s", path, strerror(errno));
	close(fd);
}

/* What libfuse says while it mounts: it has no place for a context. */
static char fuse_words[192];

PRINTF(2, 0)
static void note_fuse_words(enum fuse_log_level level, const char *format, va_list args)
{
	(void)level;
	vsnprintf(fuse_words, sizeof fuse_words, format, args);
	fuse_words[strcspn(fuse_words, "\n")] = '\0';
}

static int mount_session(struct fuse_session *session, const char *view, struct err *e)
{
	int rc;

	fuse_words[0] = '\0';
	fuse_set_log_func(note_fuse_words);
	rc = fuse_session_mount(session, view);
	fuse_set_log_func(NULL);
	if (rc == 0)
		return 0;
	return err_set(e, -EIO, "%s: cannot be mounted on: %s", view,
		       *fuse_words ? fuse_words : "fusermount3 did not do it");
}

/* The kernel has agreed. The words here and below are Copper's: of its provider, and of the node
 * above in its overlay. */
static void note_agreed(void *context)
{
	struct serving *s = context;

	log_msg(LOG_INFO, "cache", "provider registration completed after %lld us",
		(long long)(clock_mono_ns() - s->start_ns) / 1000);
	sem_post(&s->agreed);
}

/* Once, so that who waits for us knows that it answers. After how long; 0: it does not. */
static int64_t ask_target(const struct serving *s)
{
	struct stat attr;
	int64_t answer_ns;
	int rc = cache_attr(s->cache, cache_root(s->cache), &attr);

	if (rc < 0) {
		log_msg(LOG_WARN, "cache", "%s: %s", s->opts->target, strerror(-rc));
		return 0;
	}
	answer_ns = clock_mono_ns() - s->start_ns;
	log_msg(LOG_INFO, "cache",
		"first successful parent rpc_lstat completed after %lld us since provider startup; "
		"path=%s",
		(long long)answer_ns / 1000, s->opts->target);
	return answer_ns;
}

/* Where access lists count, and we may. */
static int place_root(struct serving *s)
{
	int tree, rc = 0;

	if (s->mount.checks_access)
		return 0;
	s->mount.mover = gettid();
	tree = remount_open(s->opts->view, "view");
	s->mount.mover = 0;
	if (tree < 0)
		return 0;
	pthread_mutex_lock(&s->placing);
	if (s->is_over)
		close(tree);
	else
		rc = remount_put(tree, s->opts->view, &s->begin_error);
	s->root = (uint64_t)(uintptr_t)cache_root(s->cache);
	pthread_mutex_unlock(&s->placing);
	return rc;
}

static bool is_over(struct serving *s)
{
	bool over;

	pthread_mutex_lock(&s->placing);
	over = s->is_over;
	pthread_mutex_unlock(&s->placing);
	return over;
}

/* When it is over, the threads may be gone already. */
static void begin_prefetch(struct serving *s)
{
	pthread_mutex_lock(&s->placing);
	if (!s->is_over)
		prefetch_begin(s->mount.prefetch);
	pthread_mutex_unlock(&s->placing);
}

/* A thread: until the view can be used. */
static void *begin(void *arg)
{
	struct serving *s = arg;
	int64_t answer_ns;

	while (sem_wait(&s->agreed) < 0)
		continue;
	if (is_over(s))
		return NULL;
	answer_ns = ask_target(s);
	s->begin_rc = place_root(s);
	if (s->begin_rc < 0 || is_over(s))
		return NULL;
	s->opts->ready(s->opts->context, answer_ns);
	begin_prefetch(s);
	return NULL;
}

static int start_beginning(struct serving *s, struct err *e)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&s->beginner, NULL, begin, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return err_set(e, -rc, "cannot start a thread: %s", strerror(rc));
	s->begins = true;
	return 0;
}

static void stop_placing(struct serving *s)
{
	pthread_mutex_lock(&s->placing);
	s->is_over = true;
	pthread_mutex_unlock(&s->placing);
	sem_post(&s->agreed);
}

/* The view is unmounted: nothing that was asked of it waits any more, but storage may hang. rc: how
 * serving it ended. */
static int end_beginning(struct serving *s, int rc, struct err *e)
{
	struct timespec until;

	if (!s->begins)
		return rc;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += BEGIN_ENDS_S;
	if (pthread_timedjoin_np(s->beginner, NULL, &until) != 0) {
		s->hangs = true;
		return rc;
	}
	if (rc < 0 || s->begin_rc == 0)
		return rc;
	*e = s->begin_error;
	return s->begin_rc;
}

/* The view is placed no more. Orders that are carried out, and the cache, have the kernel forget
 * things. */
static void end_telling(void *context)
{
	struct serving *s = context;

	stop_placing(s);
	profiling_stop(s->mount.profiling);
	cache_stop_keeping(s->cache);
}

/* From mounting to unmounting. */
static int serve(struct serving *s, const struct mount_opts *o, struct err *e)
{
	struct cache_kernel kernel = { .forget_unused = forget_unused,
				       .forget_name = forget_name,
				       .doubt_name = doubt_name,
				       .forget_file = forget_file,
				       .will_wait = serve_will_wait,
				       .gives_up = serve_gives_up,
				       .begin_storage = serve_begin_storage,
				       .end_storage = serve_end_storage,
				       .context = s };
	struct serve_opts serving = { .max_threads = o->max_threads,
				      .timeout_ns = o->cache.timeout_ns,
				      .end = end_telling,
				      .context = s };
	struct mounted mounted;
	sigset_t signals;
	int rc;

	serve_block_signals(&signals);
	rc = mount_session(s->session, o->view, e);
	if (rc < 0)
		return rc;
	if (mounted_find(o->view, &mounted, e)) {
		local_hide_device(s->local, mounted.device);
		read_farther_ahead(mounted.device);
	}
	kernel.device = fuse_session_fd(s->session);
	rc = cache_keep(s->cache, kernel, e);
	if (rc == 0 && o->prefetch.count)
		rc = prefetch_new(&o->prefetch, o->target, o->view, o->cache.budget_bytes / 2,
				  o->cache.max_file_bytes, &s->mount.prefetch, e);
	if (rc == 0)
		rc = profiling_start(s->mount.profiling, e);
	if (rc == 0)
		rc = start_beginning(s, e);
	if (rc == 0)
		rc = serve_run(s->session, &serving, &signals, &s->hangs, e);
	end_telling(s);
	profiling_write(s->mount.profiling, "pre-destroy");
	if (has_copies(s))
		end_connection(s);
	fuse_session_unmount(s->session);
	rc = end_beginning(s, rc, e);
	prefetch_stop(s->mount.prefetch);
	profiling_write(s->mount.profiling, NULL);
	return rc;
}

static double seconds_of(int64_t ns)
{
	return ns == CACHE_FOR_EVER ? FOR_EVER_S : (double)ns / (double)NS_PER_S;
}

static int open_profiling(struct serving *s, const struct mount_opts *o, struct err *e)
{
	const struct profile_about about = {
		.target = o->target,
		.view = o->view,
		.absent_ms = o->cache.absent_ns / (NS_PER_S / 1000),
		.budget_bytes = o->cache.budget_bytes,
		.is_exact = o->is_exact,
	};

	return profiling_open(&o->profiling, &about, s->cache, s->mount.metrics,
			      &s->mount.profiling, e);
}

/*
 * To check access, the kernel needs the attributes of all folders on the way. So where it keeps
 * none, it asks for them at each step, unless we check: then the names can stay with it, and
 * a call is one request, not two for each part of the path.
 */
static struct ops_mount ops_of(const struct mount_opts *o)
{
	double lifetime_s = seconds_of(o->cache.lifetime_ns);
	bool checks_access = o->is_exact && !o->has_others;

	return (struct ops_mount){
		.lifetime_s = o->is_exact ? 0 : lifetime_s,
		.names_s = o->is_exact && !checks_access ? 0 : lifetime_s,
		.is_exact = o->is_exact,
		.checks_access = checks_access,
		.checks_search = checks_access && geteuid() == 0,
		.owns_root = !checks_access && geteuid() != 0,
		.is_fixed = o->cache.lifetime_ns == CACHE_FOR_EVER,
		.passes = o->cache.passes,
		.agreed = note_agreed,
	};
}

/* To the threads that hang, until the process ends. */
static struct serving *left;

/* False: storage hangs, and all stays as it is: threads still use it. */
static bool run_cached(struct serving *s, const struct mount_opts *o, int *ret_rc, struct err *e)
{
	int rc = cache_open(local_storage(s->local), &o->cache, &s->cache, e);

	*ret_rc = rc;
	if (rc < 0)
		return true;
	s->mount.cache = s->cache;
	rc = open_profiling(s, o, e);
	if (rc == 0)
		rc = new_session(s, o, e);
	if (rc == 0)
		rc = serve(s, o, e);
	*ret_rc = rc;
	if (s->hangs || !cache_close(s->cache))
		return false;
	if (s->session)
		fuse_session_destroy(s->session);
	return true;
}

int mount_run(const struct mount_opts *o, struct err *e)
{
	struct serving *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(e);
	s->mount = ops_of(o);
	s->mount.context = s;
	s->opts = o;
	s->root = FUSE_ROOT_ID;
	sem_init(&s->agreed, 0, 0);
	pthread_mutex_init(&s->placing, NULL);
	s->start_ns = clock_mono_ns();
	prctl(PR_SET_NAME, MOUNTED_COMM);
	rights_raise_files();
	memory_spare_addresses();
	rc = local_open(o->target, below(o->target, o->view), &s->local, e);
	if (rc == 0) {
		s->mount.metrics = metrics_new();
		if (!s->mount.metrics)
			rc = err_nomem(e);
	}
	if (rc == 0 && !run_cached(s, o, &rc, e)) {
		log_msg(LOG_WARN, "cache", "%s: storage hangs; it is left so", o->target);
		left = s;
		return rc;
	}
	profiling_close(s->mount.profiling);
	metrics_free(s->mount.metrics);
	local_close(s->local);
	pthread_mutex_destroy(&s->placing);
	sem_destroy(&s->agreed);
	free(s);
	return rc;
}
