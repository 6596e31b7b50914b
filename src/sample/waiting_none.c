/* SPDX-License-Identifier: MIT */
/* Without BPF, or on a machine whose registers bpf/waits.bpf.c does not know. */
#include "sample/waiting.h"

#include <errno.h>

#include "sample/bpf.h"

int waiting_new(const struct waiting_opts *o, struct waiting **ret, struct err *e)
{
	int rc = bpf_probe(e);

	(void)o;
	*ret = NULL;
	return rc < 0 ? rc : err_set(e, -ENOSYS, "not made for this kind of processor");
}

void waiting_free(struct waiting *w)
{
	(void)w;
}

int waiting_fd(const struct waiting *w)
{
	(void)w;
	return -1;
}

int waiting_begin(struct waiting *w, uint64_t time_ns, struct err *e)
{
	(void)w;
	(void)time_ns;
	(void)e;
	return 0;
}

int waiting_poll(struct waiting *w, struct ingest *in)
{
	(void)w;
	(void)in;
	return 0;
}

int waiting_tell(struct waiting *w, struct ingest *in, uint64_t before_ns)
{
	(void)w;
	(void)in;
	(void)before_ns;
	return 0;
}

int waiting_end(struct waiting *w, struct ingest *in, uint64_t time_ns)
{
	(void)w;
	(void)in;
	(void)time_ns;
	return 0;
}
