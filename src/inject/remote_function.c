/* SPDX-License-Identifier: MIT */
/* Functions that a thread of the process calls, on a stack that was mapped for this. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/remote_internal.h"

#define PAGE ((size_t)4096)
#define STACK ((size_t)512 << 10) /* for dlopen(), and the constructors of a library */

size_t remote_stack_bytes(void)
{
	return STACK + (arch_function_state_bytes() + PAGE - 1) / PAGE * PAGE;
}

/* If we die, the process takes it back when it leaves the lists. */
static int map_stack(struct remote *r, struct err *e)
{
	const struct remote_call map = { .nr = SYS_mmap,
					 .arg = { 0, remote_stack_bytes(), PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 },
					 .what = "mmap of a stack" };
	struct remote_call unmap = { .nr = SYS_munmap,
				     .arg = { 0, remote_stack_bytes() },
				     .may_fail = true };

	remote_add_step(r, &map);
	if (remote_run_steps(r, e) < 0)
		return e->code;
	r->stack = unmap.arg[0] = (uint64_t)remote_result(r, 0);
	remote_add_undo(r, &unmap);
	return 0;
}

int remote_call_function(struct remote *r, uint64_t address, const uint64_t arg[3],
			 uint64_t *ret_result, struct err *e)
{
	struct remote_call call = { .nr = ARCH_FUNCTION,
				    .arg = { address, arg[0], arg[1], arg[2] },
				    .what = "a function" };

	if (!arch_function_state_bytes())
		return err_set(e, -ENOTSUP, "functions cannot be called on this processor");
	if (!r->stack && map_stack(r, e) < 0)
		return e->code;
	call.arg[4] = r->stack + STACK;
	remote_add_step(r, &call);
	if (remote_run_steps(r, e) < 0)
		return e->code;
	*ret_result = (uint64_t)remote_result(r, 0);
	return 0;
}
