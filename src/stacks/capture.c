/* SPDX-License-Identifier: MIT */
#include "stacks/capture.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "sample/initial_waits.h"
#include "unwind/rule.h"

#define TRIES 3
#define SP_NUMBER 7      /* of DWARF, on x86-64 */
#define WAIT_NS NS_PER_S /* for a thread to stop: it may need a CPU first */

/* The registers of the thread, in a stop. false: it runs 32-bit code. */
static bool take_regs(const struct arch_regs *from, struct capture *ret, uint64_t *ret_sp)
{
	uint64_t dwarf[UNWIND_REG_COUNT];
	unsigned count = 0;
	const struct unwind_arch *arch = unwind_arch_of(user_stack_machine());

	if (!arch || !arch_is_native(from))
		return false;
	while (count < ARRAY_LEN(dwarf) && arch_get(from, count, &dwarf[count]))
		count++;
	ret->mask =
		user_stack_put_regs(user_stack_machine(), arch_ip(from), dwarf, count, ret->regs);
	*ret_sp = arch->sp < count ? dwarf[arch->sp] : 0;
	return true;
}

static int read_stopped(struct capturer *c, uint32_t pid, uint32_t tid, const char *wchan,
			const struct arch_regs *regs, struct capture *ret)
{
	uint64_t sp;

	ret->time_ns = (uint64_t)clock_mono_ns();
	ret->call = thread_call_read(pid, tid, wchan);
	if (!take_regs(regs, ret, &sp)) {
		err_set(&ret->missing, -ENOTSUP, "it runs 32-bit code");
		return 0;
	}
	ret->stack_len = initial_waits_read_stack(pid, sp, c->stack, CAPTURE_STACK_BYTES);
	return python_read_waiting(c->python, pid, tid, ret->time_ns);
}

int capture_stopped(struct capturer *c, uint32_t pid, uint32_t tid, const char *wchan,
		    struct capture *ret)
{
	struct brief_stop_result result;
	struct arch_regs regs;
	int64_t longest_ns = 0;
	int rc = 0;

	for (int i = 0; rc == 0 && i < TRIES; i++) {
		*ret = (struct capture){ 0 };
		if (brief_stop_begin(&c->stop, (pid_t)pid, (pid_t)tid, WAIT_NS, CAPTURE_STOP_NS,
				     &regs, &ret->missing) < 0)
			return ret->missing.code == -ESRCH ? -ESRCH : 0;
		rc = read_stopped(c, pid, tid, wchan, &regs, ret);
		result = brief_stop_end(&c->stop);
		if (result.stopped_ns > longest_ns)
			longest_ns = result.stopped_ns;
		ret->stopped_ns = longest_ns;
		if (!result.was_late)
			break;
		err_set(&ret->missing, -ETIMEDOUT, "it ran on before all was read");
	}
	/* It ran while its call was read: which one it is in now is known at least. */
	if (ret->missing.code && !ret->call.is_in_call)
		ret->call = thread_call_read(pid, tid, wchan);
	return rc;
}

/* The registers that calls do not preserve are zero: no caller needs them. */
static void take_waiting_regs(struct capturer *c, uint32_t tid, const struct thread_call *call,
			      struct capture *ret)
{
	struct thread_regs r;

	if (kernel_regs_read(&c->kernel_regs, (pid_t)tid, &r) && r.ip == call->pc &&
	    r.dwarf[SP_NUMBER] == call->sp) {
		uint64_t dwarf[THREAD_REGS_COUNT];

		for (size_t i = 0; i < ARRAY_LEN(dwarf); i++)
			dwarf[i] = r.dwarf[i];
		ret->mask = user_stack_put_regs(user_stack_machine(), call->pc, dwarf,
						ARRAY_LEN(dwarf), ret->regs);
		return;
	}
	ret->mask = user_stack_least_regs(user_stack_machine());
	ret->regs[0] = call->sp; /* in the order of PERF_REG_* */
	ret->regs[1] = call->pc;
}

int capture_waiting(struct capturer *c, uint32_t pid, uint32_t tid, const char *wchan,
		    struct capture *ret)
{
	struct thread_call call = thread_call_read(pid, tid, wchan);

	ret->call = call;
	ret->mask = 0;
	ret->stack_len = 0;
	ret->time_ns = (uint64_t)clock_mono_ns();
	if (!call.sp || !call.pc)
		return 0;
	if (!(call.sp >> 32)) {
		err_set(&ret->missing, -ENOTSUP, "it runs 32-bit code");
		return 0;
	}
	take_waiting_regs(c, tid, &call, ret);
	ret->stack_len = initial_waits_read_stack(pid, call.sp, c->stack, CAPTURE_STACK_BYTES);
	return python_read_waiting(c->python, pid, tid, ret->time_ns);
}

void capturer_fini(struct capturer *c)
{
	brief_stop_close(&c->stop);
	kernel_regs_close(&c->kernel_regs);
}
