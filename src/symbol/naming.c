/* SPDX-License-Identifier: MIT */
#include "symbol/naming.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "symbol/elf/end_signals.h"
#include "symbol/elf/opener.h"
#include "symbol/name_channel.h"
#include "symbol/name_finder.h"
#include "symbol/sandbox.h"

#define SLICE_MS 100    /* between two checks of the time and of signals */
#define BLOCKED_MS 5000 /* that storage may take for a read */
#define KILLED_MS 2000  /* that a killed process may take to end */
#define MESSAGES_MAX \
	(1 << 20)       /* for one file; a large program has tens of thousands of .dwo files */
#define LOGS_MAX 100    /* of them that are shown */
#define REFUSED_MAX 256 /* files */
#define SERVED_MAX 4    /* requests to servers for one file: build ids could say what is in it */

const struct naming_limits naming_defaults = { 60, 300, UINT64_C(4) << 30 };

static struct {
	const struct naming_limits *limits; /* NULL: files are read here */
	pthread_mutex_t lock;               /* of the rest */
	struct buf refused;                 /* keys of files, NUL-terminated */
	size_t refused_count;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

void naming_isolate(const struct naming_limits *limits)
{
	state.limits = limits;
}

static bool is_refused(const char *key)
{
	bool found = false;

	pthread_mutex_lock(&state.lock);
	for (size_t at = 0; !found && at < state.refused.len;) {
		found = strcmp(state.refused.data + at, key) == 0;
		at += strlen(state.refused.data + at) + 1;
	}
	pthread_mutex_unlock(&state.lock);
	return found;
}

static void refuse(const char *key)
{
	pthread_mutex_lock(&state.lock);
	if (state.refused_count < REFUSED_MAX && !state.refused.bad) {
		buf_put(&state.refused, key, strlen(key) + 1);
		state.refused_count++;
	}
	pthread_mutex_unlock(&state.lock);
}

/* It reads files, and waits for nothing else but us. */
static bool is_blocked(struct naming *n)
{
	clockid_t clock;

	return clock_getcpuclockid(n->pid, &clock) == 0 &&
	       replies_is_blocked(&n->progress, n->pid, clock, BLOCKED_MS);
}

static int wait_slices(void *context, short events)
{
	struct naming *n = context;
	struct pollfd wanted = { n->fd, events, 0 };
	int rc;

	n->progress = (struct replies_progress){ 0 };
	do {
		n->is_cut = end_signals_pending();
		if (n->is_cut)
			return -ECANCELED;
		if (clock_mono_ns() > n->end_ns)
			return -ETIMEDOUT;
		if (n->has_greeted && is_blocked(n))
			return -EHOSTDOWN;
		rc = poll(&wanted, 1, SLICE_MS);
	} while (rc == 0 || (rc < 0 && errno == EINTR));
	return rc < 0 ? -errno : 0;
}

static struct name_channel channel_of(struct naming *n)
{
	return (struct name_channel){ n->fd, wait_slices, n };
}

/* The actions of the attributes are freed by the caller. */
static int spawn(pid_t *ret, int channel, posix_spawn_file_actions_t *files,
		 posix_spawnattr_t *attributes)
{
	const short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
	char program[] = "auger", verb[] = NAMING_VERB;
	char *argv[] = { program, verb, NULL };
	sigset_t all, none;
	int rc;

	sigfillset(&all);
	sigemptyset(&none);
	/* A group of its own: what the terminal sends is for us alone. */
	if (posix_spawnattr_setflags(attributes, flags) ||
	    posix_spawnattr_setsigdefault(attributes, &all) ||
	    posix_spawnattr_setsigmask(attributes, &none) ||
	    posix_spawn_file_actions_adddup2(files, channel, STDIN_FILENO))
		return -ENOMEM;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0))
			return -ENOMEM;
	rc = posix_spawn(ret, "/proc/self/exe", files, attributes, argv, environ);
	return -rc;
}

static int start(struct naming *n)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	rc = -posix_spawn_file_actions_init(&files);
	if (rc == 0) {
		rc = -posix_spawnattr_init(&attributes);
		if (rc == 0) {
			rc = spawn(&n->pid, ends[1], &files, &attributes);
			posix_spawnattr_destroy(&attributes);
		}
		posix_spawn_file_actions_destroy(&files);
	}
	close(ends[1]);
	if (rc < 0) {
		n->pid = 0;
		close(ends[0]);
		return rc;
	}
	n->fd = ends[0];
	n->has_greeted = false;
	return 0;
}

/* Ends the process; its status, or -1: unknown. */
static int stop(struct naming *n)
{
	int status = -1;
	bool is_killed;

	close(n->fd);
	/* It has another user, so a container may refuse that: then it ends by its limits. */
	is_killed = kill(n->pid, SIGKILL) == 0 || errno != EPERM;
	if (replies_wait_end(n->pid, &status, is_killed ? KILLED_MS : 0) <= 0)
		status = -1;
	n->pid = 0;
	return status;
}

void naming_end(struct naming *n)
{
	if (n->pid)
		stop(n);
	buf_fini(&n->answer);
}

static void set_limit(pid_t pid, int resource, uint64_t value)
{
	struct rlimit limit;

	if (prlimit(pid, (enum __rlimit_resource)resource, NULL, &limit) < 0)
		return;
	limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
	if (prlimit(pid, (enum __rlimit_resource)resource, &limit, NULL) < 0)
		errno = 0; /* a container may refuse it: the time until the answer remains */
}

/* Soft limits, which the filter of the process keeps it from raising. */
static void set_limits(struct naming *n)
{
	struct timespec used = { 0 };
	clockid_t clock;

	n->end_ns = clock_mono_ns() + (int64_t)state.limits->wall_s * NS_PER_S;
	n->memory = state.limits->memory_bytes;
	n->log_count = n->served_count = 0;
	if (clock_getcpuclockid(n->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
		set_limit(n->pid, RLIMIT_CPU, (uint64_t)used.tv_sec + state.limits->cpu_s);
	if (sandbox_has_limits())
		set_limit(n->pid, RLIMIT_AS, n->memory);
}

static int check_magic(int fd, const char *path, struct err *e)
{
	char magic[SELFMAG];
	ssize_t len;

	do
		len = pread(fd, magic, sizeof magic, 0);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return err_errno(e, "%s", path);
	return len == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0
		       ? 0
		       : err_set(e, -ENOEXEC, "%s: not an ELF file", path);
}

/* The time that a server takes is not the process's. */
static int open_elf(struct naming *n, const char *path, unsigned kind, struct err *e)
{
	int64_t begin_ns = clock_mono_ns();
	int fd;

	if (kind != OPENER_BUILD_ID)
		return opener_open_here(path, OPENER_ELF, e);
	if (n->served_count++ >= SERVED_MAX)
		return err_set(e, -EPERM, "%s: too many debug files", path);
	fd = opener_open_here(path, OPENER_BUILD_ID, e);
	n->end_ns += clock_mono_ns() - begin_ns;
	return fd;
}

/* A descriptor for the process, or -errno. */
static int open_file(struct naming *n, const struct name_request *r, const char *path,
		     unsigned kind, struct err *e)
{
	static const enum opener_kind maps[] = {
		[NAME_PERF_MAP] = OPENER_TEXT, [NAME_OWN_PERF_MAP] = OPENER_OWN_TEXT
	};
	CLEANUP(fd_close) int fd = -1;
	struct stat st;
	int ret;

	if (r->kind != NAME_ELF ? strcmp(path, r->file.path) != 0
				: kind != OPENER_ELF && kind != OPENER_BUILD_ID)
		return err_set(e, -EPERM, "%s: is not the requested file", path);
	fd = r->kind == NAME_ELF ? open_elf(n, path, kind, e)
				 : opener_open_here(path, maps[r->kind], e);
	if (fd < 0)
		return fd;
	if (r->kind == NAME_ELF && check_magic(fd, path, e) < 0)
		return e->code;
	if (fstat(fd, &st) == 0 && sandbox_has_limits() &&
	    !__builtin_add_overflow(n->memory, (uint64_t)st.st_size, &n->memory))
		set_limit(n->pid, RLIMIT_AS, n->memory);
	ret = fd;
	fd = -1;
	return ret;
}

static int open_for_process(struct naming *n, const struct name_request *r,
			    const struct buf *message)
{
	struct name_channel channel = channel_of(n);
	CLEANUP(fd_close) int fd = -1;
	struct buf reply = { 0 };
	struct err e = { 0 };
	int rc;

	if (!message->len || strlen(message->data + 1) + 1 != message->len)
		return -EPROTO;
	fd = open_file(n, r, message->data + 1, (unsigned char)message->data[0], &e);
	buf_put(&reply, &e.code, sizeof e.code);
	buf_put_str(&reply, e.msg);
	rc = buf_error(&reply);
	if (rc == 0)
		rc = name_channel_send(&channel, NAME_OPENED, reply.data, reply.len, fd);
	buf_fini(&reply);
	return rc;
}

static int take_hello(struct naming *n, const struct buf *message)
{
	if (n->has_greeted || message->len != 1)
		return -EPROTO;
	n->has_greeted = true;
	log_msg(LOG_INFO, "symbol", "functions are named by process %d, %s", (int)n->pid,
		message->data[0] ? "which can open nothing" : "without a seccomp filter");
	return 0;
}

static int take_log(struct naming *n, const struct buf *message)
{
	unsigned level = message->len ? (unsigned char)message->data[0] : LOG_DEBUG + 1;

	if (level > LOG_DEBUG)
		return -EPROTO;
	if (n->log_count++ < LOGS_MAX)
		log_msg((enum log_level)level, "symbol", "%s", message->data + 1);
	return 0;
}

/* One message of the process. 1: it is the answer, in n->answer. */
static int take_message(struct naming *n, const struct name_request *r)
{
	struct name_channel channel = channel_of(n);
	int rc = name_channel_receive(&channel, &n->answer, NULL);

	if (rc < 0)
		return rc;
	if (rc == NAME_HELLO)
		return take_hello(n, &n->answer);
	if (!n->has_greeted)
		return -EPROTO;
	if (rc == NAME_LOG)
		return take_log(n, &n->answer);
	if (rc == NAME_OPEN)
		return open_for_process(n, r, &n->answer);
	return rc == NAME_ANSWER ? 1 : -EPROTO;
}

static int ask_process(struct naming *n, const struct name_request *r, struct name_answer *ret)
{
	struct name_channel channel = channel_of(n);
	struct buf question = { 0 };
	int rc;

	name_request_write(r, &question);
	rc = buf_error(&question);
	set_limits(n);
	if (rc == 0)
		rc = name_channel_send(&channel, NAME_REQUEST, question.data, question.len, -1);
	buf_fini(&question);
	for (unsigned i = 0; rc == 0 && i <= MESSAGES_MAX; i++)
		rc = i < MESSAGES_MAX ? take_message(n, r) : -EPROTO;
	if (rc == 1)
		rc = name_answer_read(n->answer.data, n->answer.len, r->count, ret);
	return rc == -EINVAL ? -EPROTO : rc;
}

/* Why there is no answer: the process has this status. */
static void put_reason(int rc, int status, struct buf *out)
{
	if (rc == -ETIMEDOUT)
		buf_printf(out, "no answer within %u s", state.limits->wall_s);
	else if (rc == -EHOSTDOWN)
		buf_put_str(out, "its storage does not reply");
	else if (rc == -EPROTO)
		buf_put_str(out, "its answer makes no sense");
	else if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		buf_printf(out, "more than %u s of CPU time", state.limits->cpu_s);
	else if (status >= 0 && WIFSIGNALED(status))
		buf_printf(out, "killed by signal %d", WTERMSIG(status));
	else
		buf_put_str(out, "the process that names them ended");
}

/* Nothing of the file was read yet: the process cannot work here. */
static void give_up(struct naming *n, int rc)
{
	n->is_broken = true;
	log_msg(LOG_INFO, "symbol", "no process names functions: %s; it is done in this one",
		strerror(-rc));
}

/* What the failure of a question means; rc as of ask_or_refuse(). */
static int end_question(struct naming *n, int rc, const char *name, const char *key)
{
	CLEANUP(buf_fini) struct buf reason = { 0 };
	int status = rc == -ENOMEM ? -1 : stop(n);

	if (rc == -ENOMEM) {
		buf_put_str(&reason, "out of memory");
	} else if (n->is_cut) {
		log_msg(LOG_WARN, "symbol",
			"a signal ends the naming of functions; those that "
			"have no name yet are shown by address");
		return 1;
	} else if (!n->has_greeted) {
		give_up(n, rc);
		return -EAGAIN;
	} else {
		put_reason(rc, status, &reason);
	}
	if (buf_error(&reason) < 0)
		return -ENOMEM;
	refuse(key);
	log_msg(LOG_WARN, "symbol",
		"%s: naming its functions failed (%s); they are shown by address", name,
		reason.data);
	return 1;
}

/* 0: answered. 1: no names. -EAGAIN: to be read here. -ENOMEM. */
static int ask_or_refuse(struct naming *n, const struct name_request *r, const char *name,
			 const char *key, struct name_answer *ret)
{
	int rc = n->pid ? 0 : start(n);

	if (rc < 0) {
		give_up(n, rc);
		return -EAGAIN;
	}
	rc = ask_process(n, r, ret);
	if (rc == 0 && ret->code != -ENOMEM)
		return 0;
	return end_question(n, rc < 0 ? rc : -ENOMEM, name, key);
}

static int ask_here(struct naming *n, const struct name_request *r, struct name_answer *ret)
{
	int rc;

	buf_clear(&n->answer);
	name_find(r, &n->answer);
	rc = buf_error(&n->answer);
	if (rc == 0)
		rc = name_answer_read(n->answer.data, n->answer.len, r->count, ret);
	return rc == 0 && ret->code == -ENOMEM ? -ENOMEM : rc;
}

int naming_ask(struct naming *n, const struct name_request *r, const char *name,
	       struct name_answer *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf key = { 0 };
	int rc = -EAGAIN;

	buf_printf(&key, "%s %s", r->file.build_id ? r->file.build_id : "", name);
	if (buf_error(&key) < 0)
		return err_nomem(e);
	if (n->is_cut || is_refused(key.data))
		return 1;
	if (state.limits && !n->is_broken)
		rc = ask_or_refuse(n, r, name, key.data, ret);
	if (rc == -EAGAIN)
		rc = ask_here(n, r, ret);
	return rc < 0 ? err_nomem(e) : rc;
}
