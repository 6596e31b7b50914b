/* SPDX-License-Identifier: MIT */
/*
 * bpf: may programs of ours run inside of the kernel here, and if not, why not.
 *
 * The programs are bpf/NAME.bpf.c; <NAME.skel.h> is made of each when this is built with libbpf,
 * clang and bpftool. Without those, bpf_probe() says so and nothing else is there.
 * A collector calls bpf_begin(), loads its program, and takes another way when that fails.
 */
#ifndef SAMPLE_BPF_H
#define SAMPLE_BPF_H

#include "base/err.h"
#include "base/macros.h"

/*
 * Loads and attaches a small program that needs what ours need, and takes it away again. -ENOSYS:
 * not built with it, or the kernel has none; -EPERM: not allowed; others. e: "FOUND; needs REMEDY".
 */
int bpf_probe(struct err *e) MUST_CHECK;

/* Before a program is opened: what libbpf says from now on goes to log_msg() and bpf_explain().
 * Only there when this is built with BPF, as the next one. */
void bpf_begin(void);

/* The reason why libbpf refused to open, load or attach a program: rc is what it returned (negative
 * errno); what: the program in words. Returns rc. */
int bpf_explain(int rc, const char *what, struct err *e);

#endif
