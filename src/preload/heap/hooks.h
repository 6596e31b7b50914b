/* SPDX-License-Identifier: MIT */
/* hooks: the functions that stand before those of the C library, by name: for got. */
#ifndef PRELOAD_HEAP_HOOKS_H
#define PRELOAD_HEAP_HOOKS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "preload/heap/got.h"

#define HOOKS 22
extern const struct hook hooks[HOOKS];

/* hooks_mmap.c */
void *own_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int own_munmap(void *at, size_t len);
void *own_mremap(void *old, size_t old_len, size_t len, int flags, ...);
int own_brk(void *end);
void *own_sbrk(intptr_t change);

/* hooks_thread.c */
int own_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		       void *(*function)(void *), void *argument);

#endif
