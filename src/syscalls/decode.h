/* SPDX-License-Identifier: MIT */
/*
 * syscall_decode: a call's arguments and result in words: names of flags, descriptors with what
 * they stand for, texts, the structures that people look for.
 */
#ifndef SYSCALLS_DECODE_H
#define SYSCALLS_DECODE_H

#include "base/buf.h"
#include "syscalls/call.h"
#include "syscalls/files.h"

/* Appends the arguments, parted by ", ". Of calls without signature the words, in hexadecimal. */
void syscall_decode_args(const struct syscall *c, struct syscall_files *files, struct buf *out);
/* "3</etc/passwd>", "0x7f...", "-1 ENOENT (No such file or directory)", "?" when it did not end. */
void syscall_decode_result(const struct syscall *c, struct syscall_files *files, struct buf *out);

#endif
