/* SPDX-License-Identifier: MIT */
/*
 * decode: prints a call's arguments and result: flags by name, descriptors with their files,
 * strings and the common structures.
 */
#ifndef SYSCALLS_DECODE_H
#define SYSCALLS_DECODE_H

#include "base/buf.h"
#include "syscalls/call.h"
#include "syscalls/files.h"

/* Appends the arguments, separated by ", ". A call without signature has them in hexadecimal. */
void syscall_decode_args(const struct syscall *c, struct syscall_files *files, struct buf *out);
/* "3</etc/passwd>", "0x7f...", "-1 ENOENT (No such file or directory)", "?" when it did not end. */
void syscall_decode_result(const struct syscall *c, struct syscall_files *files, struct buf *out);

#endif
