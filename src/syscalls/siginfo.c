/* SPDX-License-Identifier: MIT */
#include "syscalls/siginfo.h"

#include <stdint.h>
#include <sys/wait.h>

#include "base/macros.h"
#include "syscalls/flags.h"

#define ANY 0 /* of all signals */

static const struct {
	int signal, code;
	const char *name;
} codes[] = {
	{ ANY, SI_USER, "SI_USER" },
	{ ANY, SI_KERNEL, "SI_KERNEL" },
	{ ANY, SI_QUEUE, "SI_QUEUE" },
	{ ANY, SI_TIMER, "SI_TIMER" },
	{ ANY, SI_MESGQ, "SI_MESGQ" },
	{ ANY, SI_ASYNCIO, "SI_ASYNCIO" },
	{ ANY, SI_SIGIO, "SI_SIGIO" },
	{ ANY, SI_TKILL, "SI_TKILL" },
	{ SIGCHLD, CLD_EXITED, "CLD_EXITED" },
	{ SIGCHLD, CLD_KILLED, "CLD_KILLED" },
	{ SIGCHLD, CLD_DUMPED, "CLD_DUMPED" },
	{ SIGCHLD, CLD_TRAPPED, "CLD_TRAPPED" },
	{ SIGCHLD, CLD_STOPPED, "CLD_STOPPED" },
	{ SIGCHLD, CLD_CONTINUED, "CLD_CONTINUED" },
	{ SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR" },
	{ SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR" },
	{ SIGSEGV, SEGV_BNDERR, "SEGV_BNDERR" },
	{ SIGSEGV, SEGV_PKUERR, "SEGV_PKUERR" },
	{ SIGBUS, BUS_ADRALN, "BUS_ADRALN" },
	{ SIGBUS, BUS_ADRERR, "BUS_ADRERR" },
	{ SIGBUS, BUS_OBJERR, "BUS_OBJERR" },
	{ SIGBUS, BUS_MCEERR_AR, "BUS_MCEERR_AR" },
	{ SIGBUS, BUS_MCEERR_AO, "BUS_MCEERR_AO" },
	{ SIGFPE, FPE_INTDIV, "FPE_INTDIV" },
	{ SIGFPE, FPE_INTOVF, "FPE_INTOVF" },
	{ SIGFPE, FPE_FLTDIV, "FPE_FLTDIV" },
	{ SIGFPE, FPE_FLTOVF, "FPE_FLTOVF" },
	{ SIGFPE, FPE_FLTUND, "FPE_FLTUND" },
	{ SIGFPE, FPE_FLTRES, "FPE_FLTRES" },
	{ SIGFPE, FPE_FLTINV, "FPE_FLTINV" },
	{ SIGILL, ILL_ILLOPC, "ILL_ILLOPC" },
	{ SIGILL, ILL_ILLOPN, "ILL_ILLOPN" },
	{ SIGILL, ILL_PRVOPC, "ILL_PRVOPC" },
	{ SIGTRAP, TRAP_BRKPT, "TRAP_BRKPT" },
	{ SIGTRAP, TRAP_TRACE, "TRAP_TRACE" },
};

static void put_code(int signal, int code, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].code == code &&
		    (codes[i].signal == ANY || codes[i].signal == signal)) {
			buf_put_str(out, codes[i].name);
			return;
		}
	buf_put_int(out, code);
}

static void put_child(const siginfo_t *info, struct buf *out)
{
	buf_printf(out, ", si_pid=%d, si_uid=%u, si_status=", (int)info->si_pid,
		   (unsigned)info->si_uid);
	if (info->si_code == CLD_EXITED)
		buf_put_int(out, info->si_status);
	else
		syscall_put_signal(info->si_status, out);
}

static void put_address(const siginfo_t *info, struct buf *out)
{
	if (info->si_addr)
		buf_printf(out, ", si_addr=0x%llx", (unsigned long long)(uintptr_t)info->si_addr);
	else
		buf_put_str(out, ", si_addr=NULL");
}

void syscall_put_siginfo(const siginfo_t *info, struct buf *out)
{
	int signal = info->si_signo;

	syscall_put_signal(signal, out);
	buf_put_str(out, " {si_signo=");
	syscall_put_signal(signal, out);
	buf_put_str(out, ", si_code=");
	put_code(signal, info->si_code, out);
	if (info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE)
		buf_printf(out, ", si_pid=%d, si_uid=%u", (int)info->si_pid,
			   (unsigned)info->si_uid);
	else if (info->si_code > 0 && info->si_code != SI_KERNEL && signal == SIGCHLD)
		put_child(info, out);
	else if (info->si_code > 0 && info->si_code != SI_KERNEL &&
		 (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL))
		put_address(info, out);
	buf_put_byte(out, '}');
}

void syscall_put_exit(int status, struct buf *out)
{
	if (WIFSIGNALED(status)) {
		buf_put_str(out, "killed by ");
		syscall_put_signal(WTERMSIG(status), out);
		if (WCOREDUMP(status))
			buf_put_str(out, " (core dumped)");
		return;
	}
	buf_printf(out, "exited with %d", WEXITSTATUS(status));
}
