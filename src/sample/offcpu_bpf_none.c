/* SPDX-License-Identifier: MIT */
/* Without BPF, or on a machine whose registers bpf/waits.bpf.c does not know. */
#include "sample/offcpu_bpf.h"

#include <errno.h>

#include "sample/bpf.h"

int offcpu_bpf_new(const struct offcpu_bpf_opts *o, struct offcpu_bpf **ret, struct err *e)
{
	int rc = bpf_probe(e);

	(void)o;
	*ret = NULL;
	return rc < 0 ? rc : err_set(e, -ENOSYS, "not made for this kind of processor");
}

void offcpu_bpf_free(struct offcpu_bpf *w)
{
	(void)w;
}

bool offcpu_bpf_maps(const struct offcpu_bpf *w, struct walker_maps *ret)
{
	(void)w;
	(void)ret;
	return false;
}

void offcpu_bpf_use_python(struct offcpu_bpf *w, struct python *python)
{
	(void)w;
	(void)python;
}

int offcpu_bpf_fd(const struct offcpu_bpf *w)
{
	(void)w;
	return -1;
}

int offcpu_bpf_begin(struct offcpu_bpf *w, uint64_t time_ns, struct err *e)
{
	(void)w;
	(void)time_ns;
	(void)e;
	return 0;
}

int offcpu_bpf_poll(struct offcpu_bpf *w, struct ingest *in)
{
	(void)w;
	(void)in;
	return 0;
}

int offcpu_bpf_put_stacks(struct offcpu_bpf *w, struct ingest *in, uint64_t before_ns)
{
	(void)w;
	(void)in;
	(void)before_ns;
	return 0;
}

int offcpu_bpf_end(struct offcpu_bpf *w, struct ingest *in, uint64_t time_ns)
{
	(void)w;
	(void)in;
	(void)time_ns;
	return 0;
}
