/* SPDX-License-Identifier: MIT */
/* What workload.c opens while it runs. */

__attribute__((visibility("default"))) void library_call(void (*call)(int), int n);

static volatile int sink;

__attribute__((noinline)) static void inner(void (*call)(int), int n)
{
	call(n);
	sink++;
}

void library_call(void (*call)(int), int n)
{
	for (int i = 0; i < 5; i++)
		inner(call, n);
	sink++;
}
