/* SPDX-License-Identifier: MIT */
#include "heap/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/elf_image.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "heap/elf_functions.h"
#include "heap/host.h"
#include "heap/mapped_file.h"
#include "heap/safepoint.h"
#include "inject/remote.h"
#include "target/preload.h"
#include "target/proc.h"
#include "wire/heap.h"

#define SAFEPOINT_LIMIT_NS (INT64_C(10) * 1000000000)
#define LIBRARY_MAX ((size_t)64 << 20) /* bytes */
#define NAME_START "/memfd:"
#define CALLS 64
#define DATA (sizeof(struct heap_attach) + 16384) /* bytes that calls point to */
#define MESSAGE_MAX 512

/* The library, and a thread of the process that is stopped for calls. */
struct session {
	struct freeze *freeze;
	struct process_code *code;
	struct remote *remote;
	struct elf_image library;
	char library_path[PATH_MAX];
	char name[64]; /* of its memory file */
};

static int open_library(struct session *s, struct err *e)
{
	char id[ELF_BUILD_ID_HEX];

	if (!preload_find(HEAP_LIBRARY, s->library_path))
		return err_set(e, -ENOENT, HEAP_LIBRARY " is not installed");
	if (elf_image_open(&s->library, s->library_path, e) < 0)
		return e->code;
	elf_build_id(&s->library, id);
	snprintf(s->name, sizeof s->name, "auger-heap-%.16s", id);
	return 0;
}

static void session_close(struct session *s)
{
	remote_close(s->remote);
	freeze_thaw(s->freeze);
	process_code_free(s->code);
	elf_image_close(&s->library);
}

static int session_open(struct session *s, pid_t pid, struct err *e)
{
	*s = (struct session){ 0 };
	if (open_library(s, e) < 0 ||
	    safepoint_freeze(pid, SAFEPOINT_LIMIT_NS, &s->freeze, &s->code, e) < 0)
		return e->code;
	return remote_open(&s->remote, s->freeze, pid, CALLS, DATA, 0, e);
}

static int call(struct session *s, uint64_t function, uint64_t first, uint64_t second,
		uint64_t *ret, struct err *e)
{
	return remote_call_function(s->remote, function, (uint64_t[]){ first, second, 0 }, ret, e);
}

static int call_libc(struct session *s, const char *name, uint64_t first, uint64_t second,
		     uint64_t *ret, struct err *e)
{
	uint64_t function = process_code_libc(s->code, name);

	if (!function)
		return err_usage(e, "process %d: its C library has no %s()",
				 (int)remote_pid(s->remote), name);
	return call(s, function, first, second, ret, e);
}

/* A descriptor in the process: -1 on failure. */
static int make_memory_file(struct session *s, int *ret, struct err *e)
{
	const struct remote_call make = {
		.nr = SYS_memfd_create,
		.arg = { remote_put(s->remote, s->name, strlen(s->name) + 1), MFD_CLOEXEC },
		.what = "memfd_create"
	};

	remote_add_step(s->remote, &make);
	if (remote_run_steps(s->remote, e) < 0)
		return e->code;
	*ret = (int)remote_result(s->remote, 0);
	return 0;
}

/* Another thread may have put another file at its number: one that is read-only for the process,
 * but not for us. An empty memory file has nothing to lose. */
static int open_memory_file(const char *path, int *ret, struct err *e)
{
	CLEANUP(fd_close) int pinned = open(path, O_PATH | O_CLOEXEC);
	char same[PROC_PATH];
	struct stat st;

	if (pinned < 0 || fstat(pinned, &st) < 0)
		return err_errno(e, "%s", path);
	snprintf(same, sizeof same, "/proc/self/fd/%d", pinned);
	if (!S_ISREG(st.st_mode) || st.st_nlink || st.st_size)
		return err_set(e, -EPERM, "%s: the process has another file there", path);
	*ret = open(same, O_WRONLY | O_CLOEXEC);
	if (*ret < 0)
		return err_errno(e, "%s", path);
	if (fcntl(*ret, F_GET_SEALS) < 0)
		return err_set(e, -EPERM, "%s: no memory file", path);
	return 0;
}

static int fill_memory_file(struct session *s, int number, struct err *e)
{
	CLEANUP(buf_fini) struct buf bytes = { 0 };
	CLEANUP(fd_close) int fd = -1;
	char path[PROC_PATH];
	int rc;

	if (file_read_small(s->library_path, LIBRARY_MAX, &bytes, e) < 0)
		return e->code;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)remote_pid(s->remote), number);
	if (open_memory_file(path, &fd, e) < 0)
		return e->code;
	rc = file_write_all(fd, bytes.data, bytes.len);
	return rc < 0 ? err_set(e, rc, "%s: %s", path, strerror(-rc)) : 0;
}

/* dlerror()'s reason. */
static int explain_dlopen(struct session *s, struct err *e)
{
	char text[MESSAGE_MAX + 1] = "";
	uint64_t at = 0;

	if (call_libc(s, "dlerror", 0, 0, &at, e) < 0)
		return e->code;
	for (size_t i = 0; at && i < MESSAGE_MAX; i++)
		if (remote_read(s->remote, at + i, text + i, 1) < 0 || !text[i])
			break;
	return err_set(e, -ENOEXEC, "process %d: dlopen: %s", (int)remote_pid(s->remote),
		       text[0] ? text : "it failed");
}

static int open_in_process(struct session *s, int number, uint64_t *ret_handle, struct err *e)
{
	char path[PROC_PATH];
	int len = snprintf(path, sizeof path, "/proc/self/fd/%d", number);
	uint64_t at = remote_put(s->remote, path, (size_t)len + 1);

	if (call_libc(s, "dlopen", at, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE, ret_handle, e) < 0)
		return e->code;
	return *ret_handle ? 0 : explain_dlopen(s, e);
}

/* The function of a library that was not there before. */
static int load_library(struct session *s, const char *function, uint64_t *ret, struct err *e)
{
	struct remote_call shut = { .nr = SYS_close, .may_fail = true };
	uint64_t handle = 0;
	struct err later;
	int number = -1, rc;

	if (make_memory_file(s, &number, e) < 0)
		return e->code;
	rc = fill_memory_file(s, number, e);
	if (rc == 0)
		rc = open_in_process(s, number, &handle, e);
	if (rc == 0)
		rc = call_libc(s, "dlsym", handle,
			       remote_put(s->remote, function, strlen(function) + 1), ret, e);
	shut.arg[0] = (uint64_t)number;
	remote_add_step(s->remote, &shut);
	if (remote_run_steps(s->remote, rc < 0 ? &later : e) < 0 && rc == 0)
		rc = e->code;
	if (rc == 0 && !*ret)
		rc = err_set(e, -ENOEXEC, HEAP_LIBRARY " has no %s()", function);
	return rc;
}

/* 0: the library is not there yet. */
static uint64_t find_loaded(const struct session *s, const char *function)
{
	char start[96];
	const char *path;

	snprintf(start, sizeof start, NAME_START "%s", s->name);
	path = process_code_find_path(s->code, start);
	return path ? process_code_address(s->code, path, &s->library,
					   elf_function_find(&s->library, function))
		    : 0;
}

static int explain_attach(pid_t pid, int rc, struct err *e)
{
	if (rc == -EALREADY)
		return err_set(e, -EBUSY, "process %d: another auger records it", (int)pid);
	if (rc == -EBUSY)
		return err_set(e, rc, "process %d: a thread has not left the library", (int)pid);
	if (rc == -ELIBACC)
		return err_usage(e,
				 "process %d has no malloc in a library: it is linked into its "
				 "program",
				 (int)pid);
	return err_set(e, rc, "process %d cannot make its heap file: %s", (int)pid, strerror(-rc));
}

static int begin(struct session *s, const struct heap_attach_opts *o, struct err *e)
{
	struct heap_attach options = { .size = sizeof options,
				       .period = o->sample_bytes,
				       .is_exact = o->is_exact,
				       .has_mappings = o->has_mappings };
	uint64_t function = find_loaded(s, HEAP_ATTACH_FUNCTION), result = 0, at;
	const char *folder = getenv("TMPDIR");

	if (!function && load_library(s, HEAP_ATTACH_FUNCTION, &function, e) < 0)
		return e->code;
	if (folder && folder[0] == '/' && strlen(folder) < sizeof options.dir)
		memcpy(options.dir, folder, strlen(folder) + 1);
	at = remote_put(s->remote, &options, sizeof options);
	if (call(s, function, at, 0, &result, e) < 0)
		return e->code;
	return (int)result < 0 ? explain_attach(o->pid, (int)result, e) : 0;
}

/* Who has the lock records the process. */
static int take_file(struct heap_attachment *a, struct err *e)
{
	int rc = mapped_heap_open(a->pid, &a->file, e);

	if (rc == 0 && flock(a->file, LOCK_EX | LOCK_NB) < 0)
		rc = err_set(e, -EBUSY, "process %d: another auger records it", (int)a->pid);
	return rc;
}

/* What an auger that was killed has left. */
static int end_other(pid_t pid, struct err *e)
{
	struct heap_attachment a = { .pid = pid, .file = -1, .is_on = true };
	struct proc_stat stat;
	int rc = take_file(&a, e);

	a.start_ticks = proc_stat_read(&stat, pid) ? stat.start_ticks : 0;
	if (rc == 0) {
		log_msg(LOG_WARN, "heap", "an auger that was killed left process %d recorded",
			(int)pid);
		rc = heap_detach(&a, e);
	}
	heap_attachment_fini(&a);
	if (rc != -ENOENT && rc != -EACCES) /* if it is recorded, its library will say so */
		return rc;
	*e = (struct err){ 0 };
	return 0;
}

/* One that could not be read is not recorded. */
static int give_up(struct heap_attachment *a, struct err *e)
{
	struct err later = { 0 };

	if (heap_detach(a, &later) < 0)
		log_msg(LOG_WARN, "heap", "%s", later.msg);
	return e->code;
}

int heap_attach(const struct heap_attach_opts *o, struct heap_attachment *ret, struct err *e)
{
	struct proc_stat stat;
	struct session s;
	int rc = heap_check_process(o->pid, e);

	*ret = (struct heap_attachment){ .pid = o->pid, .file = -1 };
	if (rc == 0)
		rc = end_other(o->pid, e);
	if (rc < 0)
		return rc;
	if (proc_stat_read(&stat, o->pid))
		ret->start_ticks = stat.start_ticks;
	rc = session_open(&s, o->pid, e);
	if (rc == 0)
		rc = begin(&s, o, e);
	ret->is_on = rc == 0;
	if (rc == 0)
		rc = take_file(ret, e);
	session_close(&s);
	return rc < 0 && ret->is_on ? give_up(ret, e) : rc;
}

static int end(pid_t pid, struct err *e)
{
	struct session s;
	uint64_t function, result = 0;
	int rc = session_open(&s, pid, e);

	function = rc == 0 ? find_loaded(&s, HEAP_DETACH_FUNCTION) : 0;
	if (rc == 0 && !function)
		rc = err_set(
			e, -ENOENT,
			"process %d has the library of another auger: use that one, or start the process again",
			(int)pid);
	if (rc == 0)
		rc = call(&s, function, 0, 0, &result, e);
	if (rc == 0 && (int)result < 0)
		rc = explain_attach(pid, (int)result, e);
	session_close(&s);
	return rc;
}

/* One that nobody waited for yet has ended, too. */
static bool is_running(const struct heap_attachment *a)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, a->pid) && stat.start_ticks == a->start_ticks &&
	       stat.state != 'Z' && stat.state != 'X';
}

int heap_detach(struct heap_attachment *a, struct err *e)
{
	int rc = a->is_on && is_running(a) ? end(a->pid, e) : 0;

	if (rc < 0 && is_running(a))
		return rc;
	*e = (struct err){ 0 };
	a->is_on = false;
	return 0;
}

void heap_attachment_fini(struct heap_attachment *a)
{
	fd_close(&a->file);
	*a = (struct heap_attachment){ .file = -1 };
}
