/* SPDX-License-Identifier: MIT */
/*
 * refuse ERRNO CALL[,CALL...] PROGRAM [ARG...]: runs it where a seccomp filter answers these system
 * calls with ERRNO, as container runtimes do: refuse EPERM bpf,ptrace id
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CALLS 8

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{ "bpf", SYS_bpf },
	{ "perf_event_open", SYS_perf_event_open },
	{ "ptrace", SYS_ptrace },
	{ "mount", SYS_mount },
	{ "unshare", SYS_unshare },
	{ "pidfd_open", SYS_pidfd_open },
	{ "pidfd_getfd", SYS_pidfd_getfd },
	{ "process_vm_readv", SYS_process_vm_readv },
}, errors[] = { { "EPERM", EPERM }, { "ENOSYS", ENOSYS }, { "EACCES", EACCES } };

/* One row of the filter. 0: no such call. */
static size_t add_call(struct sock_filter *to, const char *name, unsigned error)
{
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		if (strcmp(calls[i].name, name) != 0)
			continue;
		to[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0,
						     1);
		to[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sock_filter filter[2 * MAX_CALLS + 2] = { BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { .len = 1, .filter = filter };
	unsigned error = 0;

	if (argc < 4)
		return 2;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (strcmp(errors[i].name, argv[1]) == 0)
			error = errors[i].number;
	for (char *name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
		size_t rows = program.len < 2 * MAX_CALLS
				      ? add_call(filter + program.len, name, error)
				      : 0;

		if (!rows || !error)
			return 2;
		program.len += (unsigned short)rows;
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0))
		return 2;
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
