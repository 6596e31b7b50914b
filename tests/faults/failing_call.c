/* SPDX-License-Identifier: MIT */
/*
 * failing_call: runs a command and lists the call sites of its system calls, or lets one call fail.
 *
 * failing_call [-t] -l FILE COMMAND ARG...
 * failing_call [-t] -f SITE,ORDINAL,ERRNO COMMAND ARG...
 *
 * A site is a system call together with the nearest return addresses into COMMAND's binary on the
 * stack of the thread that makes it: the same for each thread and in each run. Calls that no code
 * of the binary leads to are the dynamic linker's, and are left out. FILE gets a line a site: its
 * id, the number of the call, how often it was made, and the addresses. -f lets the call with this
 * ORDINAL (from 1) at SITE fail without being made; only close(2) is made, for the kernel closes
 * the descriptor whatever it returns. All threads and forked copies of COMMAND are followed until
 * they run another program; with -t only threads, so that COMMAND can trace its children itself.
 * The exit status is COMMAND's, or 128 + N when signal N ended it.
 *
 * Source: ptrace(2), PTRACE_GET_SYSCALL_INFO; Linux 5.3. x86-64 only.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLERS 4
#define IN_ID 2 /* of the callers; what lies above on the stack may be stale */
#define STACK_WORDS 2048
#define MAX_TASKS 256
#define MAX_SITES 8192

struct task {
	pid_t tid;                 /* 0: free */
	uint64_t start, end, base; /* where its process has the binary's code, and the binary */
	bool fails;                /* the call that it is in */
};

struct site {
	uint64_t id, callers[CALLERS]; /* callers: relative to the binary's load address; 0: none */
	uint64_t nr;
	unsigned long count;
};

static struct task tasks[MAX_TASKS];
static struct site sites[MAX_SITES];
static size_t site_count;
static const unsigned char *binary; /* the file */
static size_t binary_len;
static uint64_t code_offset; /* in the file */
static char binary_path[4096];
static uint64_t wanted_site, wanted_ordinal;
static int wanted_errno;

static void die(const char *what)
{
	perror(what);
	exit(125);
}

static struct task *find_task(pid_t tid)
{
	for (size_t i = 0; i < MAX_TASKS; i++)
		if (tasks[i].tid == tid)
			return &tasks[i];
	return NULL;
}

/* Finds the binary's code in the memory of a process. false: it runs another program. */
static bool find_code(struct task *t)
{
	char path[64], line[4400], name[4096];
	unsigned long start, end, offset;
	char modes[8];
	FILE *maps;

	t->start = t->base = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)t->tid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, modes, &offset,
			   name) != 5 ||
		    strcmp(name, binary_path) != 0)
			continue;
		if (!t->base)
			t->base = start - offset;
		if (modes[2] == 'x' && !t->start) {
			t->start = start;
			t->end = end;
			code_offset = offset;
		}
	}
	if (maps)
		fclose(maps);
	return t->start;
}

/* Does a call instruction end at this place of the code? */
static bool follows_call(const struct task *t, uint64_t address)
{
	uint64_t at = address - t->start + code_offset;
	const unsigned char *p = binary + at;

	if (at < 8 || at >= binary_len)
		return false;
	if (p[-5] == 0xe8)
		return true;
	for (int len = 2; len <= 7; len++)
		if (p[-len] == 0xff && (p[1 - len] >> 3 & 7) == 2)
			return true;
	return false;
}

static struct site look_at(const struct task *t, const struct __ptrace_syscall_info *info)
{
	static uint64_t words[STACK_WORDS];
	struct iovec local = { words, sizeof words };
	struct iovec remote = { (void *)(uintptr_t)info->stack_pointer, sizeof words };
	struct site s = { .nr = info->entry.nr };
	ssize_t len = process_vm_readv(t->tid, &local, 1, &remote, 1, 0);
	size_t n = 0;

	s.id = s.nr * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (ssize_t i = 0; i < len / 8 && n < CALLERS; i++)
		if (words[i] >= t->start && words[i] < t->end && follows_call(t, words[i])) {
			s.callers[n] = words[i] - t->base;
			if (n++ < IN_ID)
				s.id = (s.id ^ s.callers[n - 1]) * UINT64_C(0x100000001b3);
		}
	return s;
}

/* Counts the call; NULL: it has no site. */
static struct site *count_call(const struct site *s)
{
	if (!s->callers[0])
		return NULL;
	for (size_t i = 0; i < site_count; i++)
		if (sites[i].id == s->id) {
			sites[i].count++;
			return &sites[i];
		}
	if (site_count == MAX_SITES)
		return NULL;
	sites[site_count] = *s;
	sites[site_count].count = 1;
	return &sites[site_count++];
}

static void set_registers(const struct task *t, bool is_entry)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
		return;
	if (is_entry)
		regs.orig_rax = (unsigned long long)-1;
	else
		regs.rax = (unsigned long long)-wanted_errno;
	ptrace(PTRACE_SETREGS, t->tid, 0, &regs);
}

static void enter_or_leave(struct task *t)
{
	struct __ptrace_syscall_info info;
	struct site *s, here;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof info, &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		if (t->fails)
			set_registers(t, false);
		t->fails = false;
	} else if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		here = look_at(t, &info);
		s = count_call(&here);
		t->fails = s && s->id == wanted_site && s->count == wanted_ordinal;
		if (t->fails && s->nr != SYS_close)
			set_registers(t, true);
	}
}

static void add_task(pid_t tid)
{
	struct task *t = find_task(0);

	if (!t)
		die("too many threads");
	*t = (struct task){ .tid = tid };
	find_code(t);
}

/* One stop of a thread: what to go on with. */
static void resume(struct task *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_EXEC && !find_code(t)) {
		ptrace(PTRACE_DETACH, t->tid, 0, 0);
		t->tid = 0;
		return;
	}
	if (sig == (SIGTRAP | 0x80)) {
		enter_or_leave(t);
		sig = 0;
	} else if (event) {
		sig = 0;
	}
	ptrace(PTRACE_SYSCALL, t->tid, 0, sig);
}

static int follow(pid_t first)
{
	int status, result = 125;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct task *t = find_task(tid);

		if (!WIFSTOPPED(status)) {
			if (t)
				t->tid = 0;
			if (tid == first)
				result = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
							     : WEXITSTATUS(status);
			continue;
		}
		if (t) {
			resume(t, status);
			continue;
		}
		add_task(tid); /* its first stop is a SIGSTOP of the kernel's */
		ptrace(PTRACE_SYSCALL, tid, 0, 0);
	}
	return result;
}

static void load_binary(const char *command)
{
	struct stat st;
	void *data;
	int fd;

	if (!realpath(command, binary_path))
		die(command);
	fd = open(binary_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		die(binary_path);
	binary_len = (size_t)st.st_size;
	data = mmap(NULL, binary_len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		die(binary_path);
	binary = data;
	close(fd);
}

static pid_t start(char **argv, bool only_threads)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
		       PTRACE_O_EXITKILL;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[0], argv);
		die(argv[0]);
	}
	if (!only_threads)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	if (waitpid(pid, &status, 0) != pid || ptrace(PTRACE_SETOPTIONS, pid, 0, options) < 0)
		die("ptrace");
	add_task(pid);
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	return pid;
}

static void write_sites(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die(path);
	for (size_t i = 0; i < site_count; i++) {
		const struct site *s = &sites[i];

		fprintf(out, "%llx %llu %lu", (unsigned long long)s->id, (unsigned long long)s->nr,
			s->count);
		for (size_t k = 0; k < CALLERS && s->callers[k]; k++)
			fprintf(out, " %llx", (unsigned long long)s->callers[k]);
		fputc('\n', out);
	}
	fclose(out);
}

int main(int argc, char **argv)
{
	const char *list = NULL;
	bool only_threads = false;
	unsigned long long site, ordinal;
	int opt, result;

	while ((opt = getopt(argc, argv, "+tl:f:")) != -1)
		if (opt == 't')
			only_threads = true;
		else if (opt == 'l')
			list = optarg;
		else if (opt != 'f' ||
			 sscanf(optarg, "%llx,%llu,%d", &site, &ordinal, &wanted_errno) != 3)
			return 125;
		else
			wanted_site = site, wanted_ordinal = ordinal;
	if (optind == argc)
		return 125;
	load_binary(argv[optind]);
	result = follow(start(argv + optind, only_threads));
	if (list)
		write_sites(list);
	return result;
}
