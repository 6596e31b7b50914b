/* SPDX-License-Identifier: MIT */
/*
 * old_perf PROGRAM [ARG...]: runs it where perf_event_open(2) knows what Linux 4.18 knew, and
 * bpf(2) what 5.4 knew: anything newer in their structures is refused with the errno of these
 * kernels. uname(2) says 5.4.0. A seccomp filter passes the calls to this process, which looks at
 * the caller's memory.
 *
 * Source: kernel/events/core.c, perf_copy_attr(), and kernel/bpf/syscall.c of these versions.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define ATTR_BYTES 112u        /* PERF_ATTR_SIZE_VER5 */
#define ATTR_BITS 29           /* disabled ... namespaces */
#define SAMPLE_BITS 20         /* PERF_SAMPLE_IP ... PHYS_ADDR */
#define READ_BITS 4            /* PERF_FORMAT_TOTAL_TIME_ENABLED ... GROUP */
#define SOFTWARE_EVENTS 11     /* cpu-clock ... bpf-output */
#define BPF_COMMANDS 24        /* BPF_MAP_CREATE ... BTF_GET_NEXT_ID */
#define BPF_MAPS 26            /* ... DEVMAP_HASH */
#define BPF_MAP_FLAGS_KNOWN 10 /* bits: ... CLONE */
#define BPF_PROGRAMS 26        /* ... CGROUP_SOCKOPT */

static uint64_t word_at(const unsigned char *bytes, size_t at, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes + at, size);
	return word;
}

/* The caller's struct of so many bytes; bytes: [4096]. */
static int fetch(pid_t pid, uint64_t at, uint64_t len, unsigned char *bytes)
{
	struct iovec local = { bytes, len }, remote = { (void *)(uintptr_t)at, len };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

static void store_size(pid_t pid, uint64_t at)
{
	uint32_t size = ATTR_BYTES;
	struct iovec local = { &size, sizeof size },
		     remote = { (void *)(uintptr_t)at, sizeof size };

	if (process_vm_writev(pid, &local, 1, &remote, 1, 0) < 0)
		perror("old_perf");
}

/* 0: the call goes on. */
static int judge_perf(pid_t pid, const __u64 *args)
{
	unsigned char a[4096] = { 0 };
	uint64_t size;

	if (fetch(pid, args[0], PERF_ATTR_SIZE_VER0, a) < 0)
		return -EFAULT;
	size = word_at(a, offsetof(struct perf_event_attr, size), 4);
	if (size < PERF_ATTR_SIZE_VER0 || size > sizeof a || fetch(pid, args[0], size, a) < 0)
		return -E2BIG;
	for (size_t i = ATTR_BYTES; i < size; i++) {
		if (a[i]) {
			store_size(pid, args[0] + offsetof(struct perf_event_attr, size));
			return -E2BIG;
		}
	}
	if (word_at(a, 40, 8) >> ATTR_BITS || word_at(a, ATTR_BYTES - 2, 2) ||
	    word_at(a, offsetof(struct perf_event_attr, sample_type), 8) >> SAMPLE_BITS ||
	    word_at(a, offsetof(struct perf_event_attr, read_format), 8) >> READ_BITS ||
	    args[4] > PERF_FLAG_FD_CLOEXEC + PERF_FLAG_PID_CGROUP + PERF_FLAG_FD_OUTPUT +
			      PERF_FLAG_FD_NO_GROUP)
		return -EINVAL;
	if (word_at(a, 0, 4) == PERF_TYPE_SOFTWARE &&
	    word_at(a, offsetof(struct perf_event_attr, config), 8) >= SOFTWARE_EVENTS)
		return -ENOENT;
	return 0;
}

static int judge_bpf(pid_t pid, const __u64 *args)
{
	unsigned char a[4096] = { 0 };

	if (args[0] >= BPF_COMMANDS || args[2] > sizeof a)
		return -EINVAL;
	if (fetch(pid, args[1], args[2], a) < 0)
		return -EFAULT;
	if (args[0] == BPF_MAP_CREATE &&
	    (word_at(a, offsetof(union bpf_attr, map_type), 4) >= BPF_MAPS ||
	     word_at(a, offsetof(union bpf_attr, map_flags), 4) >> BPF_MAP_FLAGS_KNOWN))
		return -EINVAL;
	if (args[0] == BPF_PROG_LOAD &&
	    word_at(a, offsetof(union bpf_attr, prog_type), 4) >= BPF_PROGRAMS)
		return -EINVAL;
	return 0;
}

static int put_name(pid_t pid, const __u64 *args)
{
	struct utsname name;
	struct iovec local = { &name, sizeof name };
	struct iovec remote = { (void *)(uintptr_t)args[0], sizeof name };

	uname(&name);
	snprintf(name.release, sizeof name.release, "5.4.0");
	return process_vm_writev(pid, &local, 1, &remote, 1, 0) < 0 ? -EFAULT : 0;
}

static void answer(int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	pid_t pid;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return;
	pid = (pid_t)call.pid;
	resp.id = call.id;
	if (call.data.nr == SYS_uname)
		resp.error = put_name(pid, call.data.args);
	else if (call.data.nr == SYS_bpf)
		resp.error = judge_bpf(pid, call.data.args);
	else
		resp.error = judge_perf(pid, call.data.args);
	if (call.data.nr != SYS_uname && !resp.error)
		resp.flags = (__u32)SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static int listen_to_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

int main(int argc, char **argv)
{
	int *listener = mmap(NULL, sizeof *listener, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pollfd wait = { .events = POLLIN };
	int status;
	pid_t pid;

	if (argc < 2 || listener == MAP_FAILED)
		return 2;
	/* With the same descriptors until the exec, so that this one has the listener, too. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		__atomic_store_n(listener, listen_to_calls(), __ATOMIC_RELEASE);
		if (*listener >= 0)
			execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(*listener < 0 ? 2 : 127);
	}
	while (pid > 0 && (wait.fd = __atomic_load_n(listener, __ATOMIC_ACQUIRE)) == 0)
		usleep(100);
	while (wait.fd > 0 && poll(&wait, 1, -1) >= 0 && !(wait.revents & POLLHUP))
		answer(wait.fd);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
