/* SPDX-License-Identifier: MIT */
/* bpf_event: converts a call as bpf/syscalls.bpf.c writes it. */
#ifndef SYSCALLS_BPF_EVENT_H
#define SYSCALLS_BPF_EVENT_H

#include "bpf/syscalls.h"
#include "syscalls/sink.h"

/* bytes: of memory that follow the head of ev. ret borrows them. */
void syscall_bpf_event_get(const struct calls_event *ev, size_t bytes, struct syscall *ret);

/* Names the descriptors among the arguments by their paths that bpf/fd_path.h read. */
void syscall_bpf_event_name_fds(struct syscall_files *files, const struct syscall *c);

#endif
