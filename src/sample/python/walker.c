/* SPDX-License-Identifier: MIT */
#include "sample/python/walker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <python.skel.h>
#include <python_stub.skel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "sample/bpf.h"
#include "target/proc.h"

struct walker {
	struct python_stub_bpf *stub;
	struct python_bpf *bpf; /* NULL: not loaded yet */
	struct ring_buffer *ring;
	struct python_stacks *to;
	bool is_sharing;
	struct walker_maps shared; /* if it is; borrowed until the large one is loaded */
	int failure;               /* of loading it */
};

/* BPF programs see pids of the initial pid namespace. */
static int check_numbers(struct err *e)
{
	if (!proc_has_kernel_pids())
		return err_set(e, -ENOTSUP,
			       "this container numbers its processes by itself; needs to be run "
			       "outside of it");
	return 0;
}

/* Before 6.3 the program does not know the sample's time. */
static int check_kernel(struct err *e)
{
	struct utsname host;
	unsigned major, minor;

	if (uname(&host) == 0 && sscanf(host.release, "%u.%u", &major, &minor) == 2 &&
	    (major < 6 || (major == 6 && minor < 3)))
		return err_set(e, -ENOTSUP,
			       "Python frames are not walked by Linux %s; needs Linux 6.3",
			       host.release);
	return 0;
}

int walker_new(const struct walker_maps *shared, struct walker **ret, struct err *e)
{
	struct walker *w;
	int rc = check_numbers(e);

	if (rc == 0)
		rc = check_kernel(e);
	if (rc < 0)
		return rc;
	w = calloc(1, sizeof *w);
	if (!w)
		return err_nomem(e);
	w->is_sharing = shared;
	if (shared)
		w->shared = *shared;
	bpf_begin();
	w->stub = python_stub_bpf__open();
	rc = w->stub ? python_stub_bpf__load(w->stub) : -errno;
	if (rc < 0) {
		walker_free(w);
		return bpf_explain(rc, "the program that walks Python frames", e);
	}
	*ret = w;
	return 0;
}

void walker_free(struct walker *w)
{
	if (!w)
		return;
	ring_buffer__free(w->ring);
	python_bpf__destroy(w->bpf);
	python_stub_bpf__destroy(w->stub);
	free(w);
}

int walker_program(const struct walker *w)
{
	return bpf_program__fd(w->stub->progs.on_sample);
}

static int put(void *walker, void *bytes, size_t len)
{
	struct walker *w = walker;

	return python_stacks_put(w->to, bytes, len);
}

static int share(struct walker *w)
{
	const struct {
		struct bpf_map *map;
		int fd;
	} maps[] = {
		{ w->bpf->maps.python_processes, w->shared.processes },
		{ w->bpf->maps.python_files, w->shared.files },
		{ w->bpf->maps.python_seen, w->shared.seen },
		{ w->bpf->maps.python_strangers, w->shared.strangers },
		{ w->bpf->maps.python_ring, w->shared.ring },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && w->is_sharing && i < ARRAY_LEN(maps); i++)
		rc = bpf_map__reuse_fd(maps[i].map, maps[i].fd);
	return rc;
}

static int load(struct walker *w)
{
	const uint32_t first = 0;
	int rc, program, cpus = libbpf_num_possible_cpus();

	w->bpf = python_bpf__open();
	if (!w->bpf || cpus < 0)
		return w->bpf ? cpus : -errno;
	w->bpf->rodata->python_ring_full = PYTHON_RING_BYTES / 4;
	rc = bpf_map__set_max_entries(w->bpf->maps.python_scratches, (uint32_t)cpus);
	if (rc == 0)
		rc = share(w);
	if (rc == 0)
		rc = python_bpf__load(w->bpf);
	if (rc < 0)
		return rc;
	w->ring = ring_buffer__new(bpf_map__fd(w->bpf->maps.python_ring), put, w, NULL);
	if (!w->ring)
		return -errno;
	program = bpf_program__fd(w->bpf->progs.on_sample);
	rc = bpf_map_update_elem(bpf_map__fd(w->stub->maps.next), &first, &program, BPF_ANY);
	return rc < 0 ? -errno : 0;
}

int walker_start(struct walker *w, struct python_stacks *to, struct err *e)
{
	if (!w->bpf && !w->failure) {
		bpf_begin();
		w->to = to;
		w->failure = load(w);
	}
	return w->failure ? bpf_explain(w->failure, "the program that walks Python frames", e) : 0;
}

void walker_add_file(struct walker *w, const struct python_file_key *key,
		     const struct python_file *file)
{
	bpf_map_update_elem(bpf_map__fd(w->bpf->maps.python_files), key, file, BPF_ANY);
}

void walker_add_process(struct walker *w, uint32_t pid, const struct python_process *process)
{
	bpf_map_update_elem(bpf_map__fd(w->bpf->maps.python_processes), &pid, process, BPF_ANY);
}

void walker_remove_process(struct walker *w, uint32_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(w->bpf->maps.python_processes), &pid);
}

int walker_poll(struct walker *w)
{
	int rc = w->ring ? ring_buffer__consume(w->ring) : 0;

	return rc < 0 ? rc : 0;
}

uint64_t walker_lost(const struct walker *w)
{
	return w->bpf ? w->bpf->bss->python_lost : 0;
}
