/* SPDX-License-Identifier: MIT */
/* Functions of a program that are called as those inside of libauger.a. */

int names_intern(void);
int arena_alloc(void);
int registry_lock(void);

int names_intern(void)
{
	return 1;
}

int arena_alloc(void)
{
	return 2;
}

int registry_lock(void)
{
	return 3;
}
