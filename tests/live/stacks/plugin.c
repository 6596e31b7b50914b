/* SPDX-License-Identifier: MIT */
/* The library that late.c opens. */
typedef unsigned long word;

void plugin_run(void (*back)(word), word i);

__attribute__((noinline)) static void plugin_step(void (*back)(word), word i)
{
	back(i);
	__asm__ volatile("");
}

__attribute__((visibility("default"))) void plugin_run(void (*back)(word), word i)
{
	plugin_step(back, i);
	__asm__ volatile("");
}
