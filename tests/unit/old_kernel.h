/* SPDX-License-Identifier: MIT */
/*
 * old_kernel: refuses this process, and what it starts, the system calls that came after Linux 5.0,
 * with a seccomp filter. Their numbers are the same on all architectures from 424 on.
 */
#ifndef OLD_KERNEL_H
#define OLD_KERNEL_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define OLD_KERNEL_FIRST 424           /* pidfd_send_signal, Linux 5.1 */
#define OLD_KERNEL_CLONE3 435          /* the C library accepts ENOSYS only for it */
#define OLD_KERNEL_FACCESSAT2 439      /* and for it */
#define OLD_KERNEL_SYSCALL_INFO 0x420e /* PTRACE_GET_SYSCALL_INFO, Linux 5.3 */

/* error: ENOSYS as an old kernel, EPERM as an old seccomp profile of containers. 0, or -1. */
static inline int old_kernel_enter(unsigned error)
{
#define AT(member) (unsigned)offsetof(struct seccomp_data, member)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OLD_KERNEL_CLONE3, 7, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OLD_KERNEL_FACCESSAT2, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OLD_KERNEL_FIRST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OLD_KERNEL_SYSCALL_INFO, 0, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };
#undef AT

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
