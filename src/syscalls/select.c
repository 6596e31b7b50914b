/* SPDX-License-Identifier: MIT */
#include "syscalls/select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "syscalls/signatures.h"

#define WORD_BYTES 64

static const char *const classes[] = { "%file",   "%desc",   "%network", "%process",
				       "%memory", "%signal", "%ipc",     NULL };

/* Members of the classes that arguments do not tell, as strace has them. A '*' at the end: all that
 * begin so. */
static const struct {
	const char *class, *const *names;
} members[] = {
	{ "%file", (const char *const[]){ "getcwd", NULL } },
	{ "%network",
	  (const char *const[]){ "accept*", "bind", "connect", "getpeername", "getsockname",
				 "getsockopt", "listen", "recv*", "send", "sendto", "sendmsg",
				 "sendmmsg", "setsockopt", "shutdown", "socket*", NULL } },
	{ "%process", (const char *const[]){ "clone*", "exec*", "exit*", "fork", "vfork", "wait*",
					     "kill", "tkill", "tgkill", "rt_sigqueueinfo",
					     "rt_tgsigqueueinfo", "pidfd_send_signal", NULL } },
	{ "%memory", (const char *const[]){ "brk",
					    "mmap*",
					    "munmap*",
					    "mremap",
					    "mprotect",
					    "pkey_mprotect",
					    "madvise",
					    "process_madvise",
					    "mlock*",
					    "msync",
					    "mincore",
					    "remap_file_pages",
					    "mbind",
					    "migrate_pages",
					    "move_pages",
					    "get_mempolicy",
					    "set_mempolicy*",
					    "shmat",
					    "shmdt",
					    NULL } },
	{ "%signal", (const char *const[]){ "rt_sig*", "sig*", "kill", "tkill", "tgkill", "pause",
					    "pidfd_send_signal", NULL } },
	{ "%ipc", (const char *const[]){ "ipc", "msgctl", "msgget", "msgrcv", "msgsnd", "sem*",
					 "shm*", NULL } },
};

static bool matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strcmp(name, pattern) == 0;
}

static bool is_member(const char *name, const char *class)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		for (const char *const *at = members[i].names;
		     strcmp(members[i].class, class) == 0 && *at; at++)
			if (matches(name, *at))
				return true;
	return false;
}

static bool is_named(const char *name, uint32_t nr, const char *word)
{
	static const char fds[] = { ARG_FD, ARG_DIRFD, '\0' };

	if (strcmp(word, "%file") == 0)
		return syscall_has_path(nr) || is_member(name, word);
	if (strcmp(word, "%desc") == 0)
		return strpbrk(syscall_signature(nr), fds) != NULL;
	return *word == '%' ? is_member(name, word) : matches(name, word);
}

static bool add_word(bool selected[SYSCALL_NAMES], const char *const *names, uint32_t abi,
		     const char *word)
{
	bool has_any = false;

	for (uint32_t nr = 0; nr < SYSCALL_NAMES; nr++) {
		if (!names[nr] || !is_named(names[nr], nr | abi, word))
			continue;
		selected[nr] = has_any = true;
	}
	return has_any;
}

static int refuse(const char *word, struct err *e)
{
	struct nearest n = nearest_start(word, strlen(word));

	nearest_add_list(&n, classes);
	for (uint32_t nr = 0; nr < SYSCALL_NAMES; nr++)
		if (syscall_names[nr])
			nearest_add(&n, syscall_names[nr]);
	return err_set(e, -EINVAL, "no system call '%s'%s", word, nearest_text(&n, ""));
}

static int add_words(struct syscall_selection *s, const char *words, struct err *e)
{
	for (const char *at = words; *at;) {
		size_t len = strcspn(at, ",");
		char word[WORD_BYTES];
		bool is_known;

		snprintf(word, sizeof word, "%.*s", (int)(len < WORD_BYTES ? len : WORD_BYTES), at);
		is_known = add_word(s->names, syscall_names, 0, word);
		is_known |= add_word(s->names_32, syscall_names_32, SYSCALL_32BIT, word);
		if (!is_known)
			return refuse(word, e);
		at += len + (at[len] == ',');
	}
	return 0;
}

int syscall_select(struct syscall_selection *s, const char *words, struct err *e)
{
	struct syscall_selection of_words = { 0 };
	bool is_inverse;

	if (strncmp(words, "trace=", strlen("trace=")) == 0)
		words += strlen("trace=");
	is_inverse = *words == '!';
	if (!words[is_inverse])
		return err_set(e, -EINVAL, "no system call ''");
	if (add_words(&of_words, words + is_inverse, e) < 0)
		return e->code;
	s->has_names = true;
	for (uint32_t nr = 0; nr < SYSCALL_NAMES; nr++) {
		s->names[nr] |= of_words.names[nr] != is_inverse;
		s->names_32[nr] |= of_words.names_32[nr] != is_inverse;
	}
	return 0;
}

bool syscall_is_selected_name(const struct syscall_selection *s, uint32_t nr)
{
	uint32_t number = nr & ~SYSCALL_32BIT;

	if (!s->has_names)
		return true;
	return number < SYSCALL_NAMES && (nr & SYSCALL_32BIT ? s->names_32 : s->names)[number];
}

bool syscall_is_selected(const struct syscall_selection *s, uint32_t nr, int32_t error, int64_t ns)
{
	return syscall_is_selected_name(s, nr) && (!s->is_failed || error) &&
	       (!s->longer_ns || ns > s->longer_ns);
}
