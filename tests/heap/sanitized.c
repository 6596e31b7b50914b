/* SPDX-License-Identifier: MIT */
/* sanitized: refers to the run-time library of ASan as a program with it does. */
extern void __asan_init(void) __attribute__((weak));

int main(void)
{
	return __asan_init ? 1 : 0;
}
