/* SPDX-License-Identifier: MIT */
#include "symbol/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/macros.h"

#define NOBODY 65534
#define FILES_MAX 256 /* open at once: a binary, its debug files, parts of split DWARF */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* A system call that is allowed when the low half of an argument, masked, has this value. */
struct call {
	uint32_t number;
	struct {
		uint32_t index, mask, value;
	} checks[2]; /* all zero: holds always */
};

/* x32 calls have other numbers, so that they are not allowed either. */
static const struct call calls[] = {
	{ SYS_read, { { 0 } } },
	{ SYS_pread64, { { 0 } } },
	{ SYS_sendmsg, { { 0 } } },
	{ SYS_recvmsg, { { 0 } } },
	{ SYS_close, { { 0 } } },
	{ SYS_fstat, { { 0 } } },
	{ SYS_newfstatat, { { 3, UINT32_MAX, AT_EMPTY_PATH } } }, /* fstat() of glibc */
	{ SYS_lseek, { { 2, UINT32_MAX, SEEK_END } } },
	{ SYS_fcntl, { { 1, UINT32_MAX, F_DUPFD_CLOEXEC } } },
	{ SYS_mmap, { { 2, PROT_EXEC, 0 }, { 3, MAP_ANONYMOUS, MAP_ANONYMOUS } } },
	{ SYS_mprotect, { { 2, PROT_EXEC, 0 } } },
	{ SYS_mremap, { { 0 } } },
	{ SYS_munmap, { { 0 } } },
	{ SYS_madvise, { { 0 } } },
	{ SYS_brk, { { 0 } } },
	{ SYS_futex, { { 0 } } },
	{ SYS_clock_gettime, { { 0 } } },
	{ SYS_getrandom, { { 0 } } },
	{ SYS_sysinfo, { { 0 } } }, /* qsort() of glibc */
	{ SYS_rt_sigprocmask, { { 0 } } },
	{ SYS_rt_sigreturn, { { 0 } } },
	{ SYS_exit, { { 0 } } },
	{ SYS_exit_group, { { 0 } } },
};

#define START_STEPS 5 /* with the last one */
#define CALL_STEPS 9

static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static struct sock_filter leave(uint32_t action)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/* Otherwise so many steps are skipped. */
static struct sock_filter equals(uint32_t value, uint8_t skipped)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped);
}

static void put_call(struct sock_filter *at, const struct call *call)
{
	*at++ = equals(call->number, CALL_STEPS - 1);
	for (uint8_t i = 0; i < 2; i++) {
		*at++ = load(offsetof(struct seccomp_data, args) +
			     call->checks[i].index * sizeof(uint64_t));
		*at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
						     call->checks[i].mask);
		*at++ = equals(call->checks[i].value, i == 0 ? 4 : 1);
	}
	*at++ = leave(SECCOMP_RET_ALLOW);
	*at++ = leave(SECCOMP_RET_ERRNO | ENOSYS);
}

static bool install_filter(void)
{
	struct sock_filter steps[START_STEPS + CALL_STEPS * ARRAY_LEN(calls)];
	const struct sock_fprog program = { .len = ARRAY_LEN(steps), .filter = steps };
	struct sock_filter *at = steps;

	if (!ARCHITECTURE || !sandbox_has_limits())
		return false;
	*at++ = load(offsetof(struct seccomp_data, arch));
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	*at++ = leave(SECCOMP_RET_KILL_PROCESS);
	*at++ = load(offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_LEN(calls); i++, at += CALL_STEPS)
		put_call(at, &calls[i]);
	*at = leave(SECCOMP_RET_ERRNO | ENOSYS);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void set_limits(void)
{
	static const struct {
		enum __rlimit_resource resource;
		rlim_t limit;
	} rows[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_NOFILE, FILES_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rlimit limit;

		if (getrlimit(rows[i].resource, &limit) < 0)
			continue;
		if (limit.rlim_max > rows[i].limit)
			limit.rlim_max = rows[i].limit;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		setrlimit(rows[i].resource, &limit);
	}
}

/* When memory runs out, this process is the one to kill. */
static void offer_to_oom_killer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		errno = 0; /* a container may refuse it */
	close(fd);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	syscall(SYS_capset, &header, none);
}

/* What fails is not ours to give up, or not there. */
static void drop_rights(void)
{
	bool is_dropped = geteuid() != 0 ||
			  (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
			   setresuid(NOBODY, NOBODY, NOBODY) == 0);

	if (!is_dropped)
		errno = 0; /* a user namespace without that user */
	drop_capabilities();
}

bool sandbox_has_limits(void)
{
	return !IS_SANITIZED;
}

bool sandbox_enter(unsigned keep)
{
	bool has_filter;

	compat_close_range(keep, UINT_MAX);
	offer_to_oom_killer();
	set_limits();
	drop_rights();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Both are reset when the user changes. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	has_filter = install_filter();
	/* In a new user namespace it has all capabilities of that. */
	if (!has_filter && unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
		drop_capabilities();
	return has_filter;
}
