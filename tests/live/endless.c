/* SPDX-License-Identifier: MIT */
/*
 * endless: never does the same twice, until it is killed or for two minutes: each turn maps code of
 * a file with a new name and runs it, in a thread with a new name; every 500 turns are a new
 * process.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS_A_PROCESS 500

/* while (--n); */
#if defined(__x86_64__)
static const unsigned char code[] = { 0xff, 0xcf, 0x75, 0xfc, 0xc3 };
#else
static const uint32_t code[] = { 0x71000400, 0x54ffffe1, 0xd65f03c0 };
#endif

static void take_turn(uint64_t number)
{
	char name[240];
	void (*function)(int);
	void *at;
	int fd;

	snprintf(name, sizeof name, "%llx-%200s", (unsigned long long)number, "");
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || write(fd, code, sizeof code) != sizeof code)
		_exit(2);
	prctl(PR_SET_NAME, name);
	at = mmap(NULL, sizeof code, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		_exit(2);
	memcpy(&function, &at, sizeof at);
	function(10000);
	munmap(at, sizeof code);
	close(fd);
}

int main(void)
{
	alarm(120); /* nobody waits for it */
	for (uint64_t first = 0;; first += TURNS_A_PROCESS) {
		pid_t pid = fork();

		for (uint64_t i = 0; pid == 0 && i < TURNS_A_PROCESS; i++)
			take_turn(first + i);
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			return 1;
	}
}
