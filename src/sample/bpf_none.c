/* SPDX-License-Identifier: MIT */
/* Without libbpf, clang or bpftool when auger was built. */
#include "sample/bpf.h"

#include <errno.h>

int bpf_probe(struct err *e)
{
	return err_set(e, -ENOSYS,
		       "auger was built without BPF; needs libbpf-dev, clang and bpftool when it "
		       "is built");
}
