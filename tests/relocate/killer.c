/* SPDX-License-Identifier: MIT */
/*
 * killer: copy|pause|repoint|swap N COMMAND [ARGUMENT...]
 *
 * Runs the command and kills it before its Nth system call. It counts from the first linkat()
 * (copy: creates the journal), the first ptrace() (pause), the first memfd_create() (repoint), or
 * the first umount2() (swap). N 0: runs to the end and prints the number of calls up to the last
 * ptrace().
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid ||
	    ptrace(PTRACE_SEIZE, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) <
		    0)
		return -1;
	kill(pid, SIGCONT);
	return pid;
}

/* Is it at the entry of a call, and which one? */
static long entered(pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) < 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return (long)info.entry.nr;
}

static int signal_to_pass(int status)
{
	int sig = WSTOPSIG(status);

	return status >> 16 || sig == (SIGTRAP | 0x80) ? 0 : sig;
}

static long first_call(const char *phase)
{
	if (strcmp(phase, "copy") == 0)
		return SYS_linkat;
	if (strcmp(phase, "swap") == 0)
		return SYS_umount2;
	return strcmp(phase, "pause") == 0 ? SYS_ptrace : SYS_memfd_create;
}

int main(int argc, char **argv)
{
	unsigned long at, count = 0, last = 0;
	long begin;
	int status;
	pid_t pid;

	if (argc < 4)
		return 2;
	begin = first_call(argv[1]);
	at = strtoul(argv[2], NULL, 10);
	pid = start(argv + 3);
	if (pid < 0) {
		perror("ptrace");
		return 2;
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		long nr = WSTOPSIG(status) == (SIGTRAP | 0x80) ? entered(pid) : -1;

		if (nr >= 0 && (count || nr == begin))
			count++;
		if (nr == SYS_ptrace)
			last = count;
		if (at && count == at)
			kill(pid, SIGKILL);
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_to_pass(status));
	}
	if (!at)
		fprintf(stderr, "%lu\n", last);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
