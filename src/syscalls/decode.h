/* SPDX-License-Identifier: MIT */
/*
 * sysc_decode: a call's arguments and result in words: names of flags, descriptors with what
 * they stand for, texts, the structures that people look for.
 */
#ifndef SYSCALLS_DECODE_H
#define SYSCALLS_DECODE_H

#include "base/buf.h"
#include "syscalls/call.h"
#include "syscalls/files.h"

/* Appends the arguments, parted by ", ". Of calls without signature the words, in hexadecimal. */
void sysc_decode_args(const struct sysc_call *c, struct sysc_files *files, struct buf *out);
/* "3</etc/passwd>", "0x7f...", "-1 ENOENT (No such file or directory)", "?" when it did not end. */
void sysc_decode_result(const struct sysc_call *c, struct sysc_files *files, struct buf *out);

#endif
