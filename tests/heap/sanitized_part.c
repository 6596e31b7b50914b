/* SPDX-License-Identifier: MIT */
/* Makes a program refer to the run-time library of ASan as one with it does. */
extern void __asan_init(void) __attribute__((weak));
void (*sanitized_by)(void);

__attribute__((constructor)) static void refer(void)
{
	sanitized_by = __asan_init;
}
