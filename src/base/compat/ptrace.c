/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/compat/compat.h"

/* At the entry of a call the kernel has set its result to -ENOSYS on x86-64, and x7 to 0 on arm64.
 * Source: Linux arch/x86/entry, arch/arm64/kernel/ptrace.c. */
static int read_registers(pid_t tid, bool is_inside, struct __ptrace_syscall_info *ret)
{
	struct user_regs_struct regs;
	struct iovec io = { &regs, sizeof regs };
	bool is_entry;

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0)
		return -1;
#ifdef __x86_64__
	const unsigned long long result = regs.rax, nr = regs.orig_rax;
	const unsigned long long args[] = {
		regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9
	};

	is_entry = !is_inside && (int64_t)result == -ENOSYS;
#else
	const unsigned long long *args = regs.regs, result = regs.regs[0], nr = regs.regs[8];

	(void)is_inside;
	is_entry = regs.regs[7] == 0;
#endif
	*ret = (struct __ptrace_syscall_info){ .op = is_entry ? PTRACE_SYSCALL_INFO_ENTRY
							      : PTRACE_SYSCALL_INFO_EXIT };
	if (!is_entry) {
		ret->exit.rval = (int64_t)result;
		return 0;
	}
	ret->entry.nr = nr;
	for (size_t i = 0; i < ARRAY_LEN(ret->entry.args); i++)
		ret->entry.args[i] = args[i];
	return 0;
}

int compat_syscall_info(pid_t tid, bool is_inside, struct __ptrace_syscall_info *ret)
{
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof *ret, ret) > 0)
		return 0;
	return errno == EIO ? read_registers(tid, is_inside, ret) : -1;
}

uint32_t compat_syscall_number(pid_t tid)
{
#ifdef __x86_64__
	return (uint32_t)ptrace(PTRACE_PEEKUSER, tid, (void *)offsetof(struct user, regs.orig_rax),
				NULL);
#else
	int nr = -1;
	struct iovec io = { &nr, sizeof nr };

	ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &io);
	return (uint32_t)nr;
#endif
}
