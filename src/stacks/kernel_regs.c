/* SPDX-License-Identifier: MIT */
#include "stacks/kernel_regs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <thread_regs.skel.h>
#include <unistd.h>

#include "base/log.h"
#include "sample/bpf.h"
#include "target/proc.h"

static void load(struct kernel_regs *k)
{
	struct err e;
	int rc;

	k->is_tried = true;
	if (!proc_has_kernel_pids())
		return;
	bpf_begin();
	k->bpf = thread_regs_bpf__open();
	rc = k->bpf ? thread_regs_bpf__load(k->bpf) : -errno;
	if (rc == 0)
		rc = thread_regs_bpf__attach(k->bpf);
	if (rc == 0)
		return;
	bpf_explain(rc, "the program for registers", &e);
	log_msg(LOG_INFO, "stacks", "registers of threads in D state: %s", e.msg);
	kernel_regs_close(k);
}

bool kernel_regs_read(struct kernel_regs *k, pid_t tid, struct thread_regs *ret)
{
	char none[64];
	ssize_t n;
	int fd;

	if (!k->is_tried)
		load(k);
	if (!k->bpf)
		return false;
	k->bpf->bss->wanted_tid = (uint32_t)tid;
	k->bpf->bss->found = (struct thread_regs){ 0 };
	fd = bpf_iter_create(bpf_link__fd(k->bpf->links.on_task));
	if (fd < 0)
		return false;
	do
		n = read(fd, none, sizeof none);
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	*ret = k->bpf->bss->found;
	return n == 0 && ret->is_found;
}

void kernel_regs_close(struct kernel_regs *k)
{
	if (k->bpf)
		thread_regs_bpf__destroy(k->bpf);
	k->bpf = NULL;
}
