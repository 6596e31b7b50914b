/* SPDX-License-Identifier: MIT */
/*
 * bpf: reports whether our BPF programs can be loaded here, and why not.
 *
 * The build makes <NAME.skel.h> of each bpf/NAME.bpf.c when it finds libbpf, clang and bpftool.
 * Without them only bpf_probe() exists, and fails with -ENOSYS. A collector calls bpf_begin(),
 * loads its program, and uses another method when that fails.
 */
#ifndef SAMPLE_BPF_H
#define SAMPLE_BPF_H

#include "base/err.h"
#include "base/macros.h"

/*
 * Loads, attaches and removes a small program with the same needs as ours. -ENOSYS: built without
 * BPF, or no kernel support; -EPERM: not permitted; others. e: "FOUND; needs REMEDY".
 */
int bpf_probe(struct err *e) MUST_CHECK;

/* Call before a program is opened: sends libbpf's messages to log_msg() and bpf_explain(). Exists
 * only when built with BPF, as does the next one. */
void bpf_begin(void);

/* Explains why libbpf could not open, load or attach a program. rc: its negative errno. what: names
 * the program for the message. Returns rc. */
int bpf_explain(int rc, const char *what, struct err *e);

#endif
