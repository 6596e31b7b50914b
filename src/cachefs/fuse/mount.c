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
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "cachefs/fuse/claim.h"
#include "cachefs/fuse/connection.h"
#include "cachefs/fuse/guardian.h"
#include "cachefs/fuse/leave.h"
#include "cachefs/fuse/mount_rules.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/node_file.h"
#include "cachefs/fuse/ops.h"
#include "cachefs/fuse/remount.h"
#include "cachefs/fuse/serve.h"
#include "cachefs/fuse/unmount.h"
#include "cachefs/memory/memory.h"
#include "cachefs/store/local.h"

#define HANGING_NS (NS_PER_S * 9 / 10) /* a request that waits for longer hangs, at the end */
#define STARTER_S 1                    /* how long to wait for the starter at the end */

struct serving {
	struct fuse_session *session;
	struct local *local;
	struct overlay *overlay;     /* NULL: none */
	struct node_file *node_file; /* NULL: none */
	struct cache *cache;
	struct ops_mount mount;
	const struct mount_opts *opts;
	int64_t start_ns;
	bool hangs; /* threads are still in storage calls */

	struct guardian guardian;
	struct leave leave;
	sigset_t signals;
	int claim; /* see claim.h; -1: the folder has no locks */

	pthread_t starter;
	bool has_starter;
	sem_t initialized;          /* the kernel sent FUSE_INIT, or the mount ends */
	_Atomic uint64_t root;      /* the root's node id in the kernel */
	pthread_mutex_t start_lock; /* of replacing the mount and starting the prefetch */
	bool is_ending;             /* under start_lock */
	int start_rc;
	struct err start_error;
};

static uint64_t number_of(const struct serving *s, uint64_t node)
{
	return node == (uint64_t)(uintptr_t)cache_root(s->cache) ? s->root : node;
}

static bool drop_unused(void *context)
{
	struct serving *s = context;
	struct mounted mounted;
	struct err e = { 0 };

	return mounted_find(s->opts->view, &mounted, &e) && mounted.daemon == getpid() &&
	       remount_shrink_dcache(s->opts->view);
}

static void inval_entry(void *context, uint64_t parent, const char *name)
{
	struct serving *s = context;

	fuse_lowlevel_notify_inval_entry(s->session, number_of(s, parent), name, strlen(name));
}

/* Kernels before 6.2 and libfuse before 3.14 cannot expire an entry. */
static void expire_entry(void *context, uint64_t parent, const char *name)
{
	struct serving *s = context;

#if FUSE_MINOR_VERSION >= 14 && !defined AUGER_FORCE_COMPAT
	if (fuse_lowlevel_notify_expire_entry(s->session, number_of(s, parent), name, strlen(name),
					      FUSE_LL_EXPIRE_ONLY) != -ENOSYS)
		return;
#endif
	inval_entry(s, parent, name);
}

static void inval_inode(void *context, uint64_t node)
{
	struct serving *s = context;

	fuse_lowlevel_notify_inval_inode(s->session, number_of(s, node), 0, 0);
}

/* The view's path relative to the target; NULL: it is outside. */
static const char *below(const char *target, const char *view)
{
	size_t len = strcmp(target, "/") == 0 ? 0 : strlen(target);

	return strncmp(target, view, len) == 0 && view[len] == '/' && view[len + 1] ? view + len + 1
										    : NULL;
}

static int new_session(struct serving *s, const struct mount_opts *o, struct err *e)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char *options = NULL, name[MOUNTED_SOURCE_MAX], source[sizeof name + 8];
	int rc = fuse_opt_add_arg(&args, "auger");

	mounted_source(o->target, name);
	snprintf(source, sizeof source, "fsname=%s", name);
	rc |= fuse_opt_add_opt(&options, "nosuid,nodev,subtype=auger,max_read=1048576");
	rc |= o->is_writable ? 0 : fuse_opt_add_opt(&options, "ro");
	rc |= fuse_opt_add_opt_escaped(&options, source);
	if (!s->mount.checks_access)
		rc |= fuse_opt_add_opt(&options, "default_permissions");
	if (o->has_others)
		rc |= fuse_opt_add_opt(&options, "allow_other");
	rc |= fuse_opt_add_arg(&args, "-o");
	rc |= fuse_opt_add_arg(&args, options ? options : "");
	if (rc == 0)
		s->session = fuse_session_new(&args, &ops_table, sizeof ops_table, &s->mount);
	fuse_opt_free_args(&args);
	free(options);
	return s->session ? 0 : err_set(e, -EINVAL, "libfuse cannot create a session");
}

static_assert(OPS_MAX_READ == 1048576, "equal to max_read in new_session");

/* The kernel caps read-ahead at 128 KiB, whatever max_readahead is. Only root can raise the cap.
 * Source: Documentation/ABI/testing/sysfs-class-bdi of Linux. */
static void raise_read_ahead(dev_t device)
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

/* The last message of libfuse while it mounts. Its log callback has no context argument. */
static char libfuse_message[192];

PRINTF(2, 0)
static void note_libfuse_message(enum fuse_log_level level, const char *format, va_list args)
{
	(void)level;
	vsnprintf(libfuse_message, sizeof libfuse_message, format, args);
	libfuse_message[strcspn(libfuse_message, "\n")] = '\0';
}

static int mount_session(struct fuse_session *session, const char *view, struct err *e)
{
	int rc;

	libfuse_message[0] = '\0';
	fuse_set_log_func(note_libfuse_message);
	rc = fuse_session_mount(session, view);
	fuse_set_log_func(NULL);
	if (rc == 0)
		return 0;
	return err_set(e, -EIO, "%s: cannot mount: %s", view,
		       *libfuse_message ? libfuse_message : "fusermount3 failed");
}

/* After FUSE_INIT. */
static void on_init(void *context)
{
	struct serving *s = context;

	log_msg(LOG_INFO, "cache", "mounted after %lld us",
		(long long)(clock_mono_ns() - s->start_ns) / 1000);
	sem_post(&s->initialized);
}

static bool is_ending(struct serving *s)
{
	bool ending;

	pthread_mutex_lock(&s->start_lock);
	ending = s->is_ending;
	pthread_mutex_unlock(&s->start_lock);
	return ending;
}

/* Makes one storage call. Returns the nanoseconds from the start to its reply; 0: it failed. */
static int64_t probe_target(struct serving *s)
{
	struct stat attr;
	int64_t reply_ns, ttl_ns;
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_attr(s->cache, &w.waiter, cache_root(s->cache), &attr, &ttl_ns);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	if (rc < 0) {
		if (!is_ending(s))
			log_msg(LOG_WARN, "cache", "%s: %s", s->opts->target, strerror(-rc));
		return 0;
	}
	reply_ns = clock_mono_ns() - s->start_ns;
	log_msg(LOG_INFO, "cache", "first reply of storage after %lld us; path=%s",
		(long long)reply_ns / 1000, s->opts->target);
	return reply_ns;
}

/* The starter's; without it, the main thread's. */
static void close_claim(struct serving *s)
{
	fd_close(&s->claim);
	s->claim = -1;
}

/* For a view with access lists, if we may mount; see remount.h. */
static int remount_root(struct serving *s)
{
	int tree, rc = 0;

	if (s->mount.checks_access)
		return 0;
	s->mount.root_mover = (pid_t)syscall(SYS_gettid);
	tree = remount_clone(s->opts->view, "view");
	s->mount.root_mover = 0;
	if (tree < 0)
		return 0;
	pthread_mutex_lock(&s->start_lock);
	claim_lock(s->claim);
	if (s->is_ending)
		close(tree);
	else
		rc = remount_move(tree, s->opts->view, &s->start_error);
	claim_unlock(s->claim);
	s->root = (uint64_t)(uintptr_t)cache_root(s->cache);
	pthread_mutex_unlock(&s->start_lock);
	return rc;
}

static void start_node_file(struct serving *s)
{
	const struct node_file_opts o = {
		.overlay = s->overlay,
		.profiling = s->mount.profiling,
		.files = &s->opts->profiling.files,
		.target = s->opts->target,
		.view = s->opts->view,
		.launch = s->opts->launch,
	};

	if (o.overlay && o.files->job)
		s->node_file = node_file_start(&o);
}

/* At the end, the prefetch may be freed already. */
static void start_late(struct serving *s)
{
	pthread_mutex_lock(&s->start_lock);
	if (!s->is_ending) {
		start_node_file(s);
		prefetch_begin(s->mount.prefetch);
	}
	pthread_mutex_unlock(&s->start_lock);
}

/* A thread function: makes the view ready. */
static void *start(void *arg)
{
	struct serving *s = arg;
	int64_t reply_ns;

	while (sem_wait(&s->initialized) < 0)
		continue;
	if (is_ending(s))
		return NULL;
	reply_ns = probe_target(s);
	s->start_rc = remount_root(s);
	close_claim(s);
	if (s->start_rc < 0 || is_ending(s))
		return NULL;
	log_msg(LOG_INFO, "cache", "view ready after %lld us",
		(long long)(clock_mono_ns() - s->start_ns) / 1000);
	s->opts->ready(s->opts->context, reply_ns);
	start_late(s);
	return NULL;
}

static int start_starter(struct serving *s, struct err *e)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&s->starter, NULL, start, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return err_set(e, -rc, "cannot start a thread: %s", strerror(rc));
	s->has_starter = true;
	return 0;
}

static void stop_starting(struct serving *s)
{
	pthread_mutex_lock(&s->start_lock);
	s->is_ending = true;
	pthread_mutex_unlock(&s->start_lock);
	sem_post(&s->initialized);
}

/* After the unmount: no request waits any more, but storage may hang. rc: the result of serving. */
static int join_starter(struct serving *s, int rc, struct err *e)
{
	struct timespec until;

	if (!s->has_starter)
		return rc;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STARTER_S;
	if (pthread_timedjoin_np(s->starter, NULL, &until) != 0) {
		s->hangs = true;
		return rc;
	}
	if (rc < 0 || s->start_rc == 0)
		return rc;
	*e = s->start_error;
	return s->start_rc;
}

/* The view has ended. Stops the threads that send notifications to the kernel. */
static void stop_notifying(void *context)
{
	struct serving *s = context;

	prctl(PR_SET_NAME, MOUNTED_COMM_ENDING);
	stop_starting(s);
	cache_fail_requests(s->cache);
	profiling_stop(s->mount.profiling);
	node_file_stop(s->node_file);
	s->node_file = NULL;
	overlay_leave(s->overlay);
	cache_stop_evictor(s->cache);
}

/* While requests are served. False: the view goes on. */
static bool ends(void *context, int signal)
{
	struct serving *s = context;
	bool hangs = cache_has_waited(s->cache, HANGING_NS);

	if (signal == SIGCHLD) {
		if (guardian_is_lost(&s->guardian))
			log_msg(LOG_WARN, "cache",
				"%s: its guardian has ended; if the daemon is killed, the view stays",
				s->opts->view);
		return false;
	}
	if (signal == UNMOUNT_IF_HANGING && !hangs)
		return false;
	guardian_ending(&s->guardian);
	stop_starting(s);
	prefetch_cancel(s->mount.prefetch);
	if (hangs)
		leave_log_users(&s->leave, "storage hangs; unmounted");
	else if (!leave_unused(&s->leave, &s->signals))
		leave_log_users(&s->leave, "unmounted");
	prctl(PR_SET_NAME, MOUNTED_COMM_ENDING); /* for an umount that then succeeds */
	cache_fail_requests(s->cache);
	leave_forced(&s->leave);
	return true;
}

/* What the end of the view must know. */
static void note_mount(struct serving *s)
{
	struct mounted mounted;
	struct err e = { 0 };

	s->leave.view = s->opts->view;
	s->leave.fuse_fd = fuse_session_fd(s->session);
	fcntl(s->leave.fuse_fd, F_SETFD, FD_CLOEXEC);
	if (!mounted_find(s->opts->view, &mounted, &e))
		return;
	s->leave.device = mounted.device;
	s->leave.connection = connection_open(mounted.device);
	guardian_mounted(&s->guardian, mounted.device);
	local_hide_device(s->local, mounted.device);
	raise_read_ahead(mounted.device);
}

static int mount_view(struct serving *s, struct err *e)
{
	const struct mount_opts *o = s->opts;
	int rc = claim_take(o->view, o->target, &s->claim, e);

	if (rc < 0)
		return rc;
	serve_block_signals(&s->signals);
	rc = mount_session(s->session, o->view, e);
	claim_unlock(s->claim);
	if (rc == 0)
		note_mount(s);
	return rc;
}

/* Nobody serves any more. */
static void end_view(struct serving *s)
{
	leave_forced(&s->leave);
	leave_connection(&s->leave);
	fuse_session_unmount(s->session);
	guardian_stop(&s->guardian);
}

/* From mount to unmount. */
static int serve(struct serving *s, const struct mount_opts *o, struct err *e)
{
	struct cache_kernel kernel = { .drop_unused = drop_unused,
				       .inval_entry = inval_entry,
				       .expire_entry = expire_entry,
				       .inval_inode = inval_inode,
				       .context = s };
	struct serve_opts serving = {
		.threads = o->threads, .ends = ends, .end = stop_notifying, .context = s
	};
	int rc = mount_view(s, e);

	if (rc < 0)
		return rc;
	kernel.fuse_fd = fuse_session_fd(s->session);
	rc = cache_start_evictor(s->cache, kernel, e);
	if (rc == 0 && o->prefetch.count)
		rc = prefetch_new(&o->prefetch, o->target, o->view, o->cache.budget_bytes / 2,
				  o->cache.max_file_bytes, &s->mount.prefetch, e);
	if (rc == 0)
		rc = profiling_start(s->mount.profiling, e);
	if (rc == 0)
		rc = start_starter(s, e);
	if (rc == 0)
		rc = serve_run(s->session, &serving, &s->signals, e);
	stop_notifying(s);
	end_view(s);
	profiling_write(s->mount.profiling, "pre-destroy");
	rc = join_starter(s, rc, e);
	prefetch_stop(s->mount.prefetch);
	profiling_write(s->mount.profiling, NULL);
	return rc;
}

static int open_profiling(struct serving *s, const struct mount_opts *o, struct err *e)
{
	const struct profile_config config = {
		.target = o->target,
		.view = o->view,
		.negative_ttl_ms = o->cache.negative_ttl_ns / (NS_PER_S / 1000),
		.budget_bytes = o->cache.budget_bytes,
		.is_exact = o->is_exact,
	};

	return profiling_open(&o->profiling, &config, s->cache, s->mount.metrics,
			      &s->mount.profiling, e);
}

static void set_operations(struct serving *s)
{
	s->mount = mount_rules(s->opts, mount_rules_ask_storage(s->opts, s->local));
	s->mount.on_init = on_init;
	s->mount.context = s;
}

/* Referenced by the threads that hang, until the process exits. */
static struct serving *abandoned;

/* False: storage hangs, and its threads still use *s. */
static bool run_cached(struct serving *s, const struct mount_opts *o, int *ret_rc, struct err *e)
{
	struct storage storage = s->overlay ? overlay_storage(s->overlay) : local_storage(s->local);
	struct cache_opts opts = o->cache;
	int rc;

	opts.asks_rights = s->mount.asks_rights;
	rc = cache_open(storage, &opts, &s->cache, e);
	*ret_rc = rc;
	if (rc < 0)
		return true;
	s->mount.cache = s->cache;
	if (s->overlay)
		rc = overlay_join(s->overlay, s->cache, e);
	if (rc == 0)
		rc = open_profiling(s, o, e);
	if (rc == 0)
		rc = new_session(s, o, e);
	if (rc == 0)
		rc = serve(s, o, e);
	*ret_rc = rc;
	overlay_leave(s->overlay);
	if (s->hangs || !cache_close(s->cache))
		return false;
	if (s->session)
		fuse_session_destroy(s->session);
	return true;
}

/* Without one, the view works as well. */
static void start_guardian(struct serving *s)
{
	struct err e = { 0 };

	if (guardian_start(&s->guardian, s->opts->view, &e) < 0)
		log_msg(LOG_WARN, "cache",
			"%s: no guardian (%s); if the daemon is killed, the view stays",
			s->opts->view, e.msg);
}

int mount_run(const struct mount_opts *o, struct err *e)
{
	struct serving *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(e);
	s->opts = o;
	s->root = FUSE_ROOT_ID;
	sem_init(&s->initialized, 0, 0);
	pthread_mutex_init(&s->start_lock, NULL);
	s->start_ns = clock_mono_ns();
	s->claim = s->leave.connection = -1;
	prctl(PR_SET_NAME, MOUNTED_COMM);
	start_guardian(s);
	memory_limit_arenas();
	rc = local_open(o->target, below(o->target, o->view), &s->local, e);
	if (rc == 0)
		set_operations(s);
	if (rc == 0 && o->overlay)
		rc = overlay_open(o->overlay, s->local, &s->overlay, e);
	if (rc == 0) {
		s->mount.metrics = metrics_new();
		if (!s->mount.metrics)
			rc = err_nomem(e);
	}
	if (rc == 0 && !run_cached(s, o, &rc, e)) {
		log_msg(LOG_WARN, "cache", "%s: storage hangs; its threads are abandoned",
			o->target);
		abandoned = s;
		return rc;
	}
	guardian_stop(&s->guardian);
	close_claim(s);
	fd_close(&s->leave.connection);
	profiling_close(s->mount.profiling);
	metrics_free(s->mount.metrics);
	overlay_close(s->overlay);
	local_close(s->local);
	pthread_mutex_destroy(&s->start_lock);
	sem_destroy(&s->initialized);
	free(s);
	return rc;
}
