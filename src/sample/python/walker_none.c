/* SPDX-License-Identifier: MIT */
/* Without libbpf, clang or bpftool when auger was built, or on a machine that is not known. */
#include <errno.h>

#include "sample/python/walker.h"

int walker_new(const struct walker_maps *shared, struct walker **ret, struct err *e)
{
	(void)shared;
	(void)ret;
	return err_set(e, -ENOSYS,
		       "auger was built without BPF; needs libbpf-dev, clang and bpftool when it "
		       "is built");
}

void walker_free(struct walker *w)
{
	(void)w;
}

int walker_program(const struct walker *w)
{
	(void)w;
	return -1;
}

int walker_start(struct walker *w, struct python_stacks *to, struct err *e)
{
	(void)w;
	(void)to;
	return err_set(e, -ENOSYS, "built without BPF");
}

void walker_add_file(struct walker *w, const struct python_file_key *key,
		     const struct python_file *file)
{
	(void)w;
	(void)key;
	(void)file;
}

void walker_add_process(struct walker *w, uint32_t pid, const struct python_process *process)
{
	(void)w;
	(void)pid;
	(void)process;
}

void walker_remove_process(struct walker *w, uint32_t pid)
{
	(void)w;
	(void)pid;
}

int walker_poll(struct walker *w)
{
	(void)w;
	return 0;
}

uint64_t walker_lost(const struct walker *w)
{
	(void)w;
	return 0;
}
