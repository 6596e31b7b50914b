/* SPDX-License-Identifier: MIT */
#include "stacks/reason.h"

static void put_running(struct buf *out, const char *words)
{
	buf_put_str(out, "running");
	if (*words)
		buf_printf(out, " in %s", words);
}

static void put_wait(struct buf *out, const struct thread_state *s, const struct thread_call *call,
		     const char *words)
{
	bool is_device = s->stat.state == 'D';

	if (*words)
		buf_put_str(out, words);
	else if (call->is_known && !call->is_running)
		buf_put_str(out, "page fault");
	else
		buf_put_str(out, s->stat.is_kernel ? "kernel thread" : "waiting");
	if (is_device)
		buf_put_str(out, ": D state");
	if (s->wchan[0] && (is_device || !*words))
		buf_printf(out, " in %s", s->wchan);
}

void reason_put(struct buf *out, const struct thread_state *s, const struct thread_call *call,
		bool was_stopped, const char *words)
{
	buf_put_byte(out, '[');
	switch (s->stat.state) {
	case 'R':
		put_running(out, words);
		break;
	case 'T':
		buf_put_str(out, "stopped by a signal");
		break;
	case 't':
		buf_put_str(out, "stopped by a debugger");
		break;
	case 'Z':
		buf_put_str(out, "zombie: has ended, its parent does not wait for it");
		break;
	case 'X':
		buf_put_str(out, "has ended");
		break;
	default:
		/* It was woken between the look at its state and the stop. */
		if (was_stopped && !call->is_in_call)
			put_running(out, "");
		else
			put_wait(out, s, call, words);
	}
	buf_put_byte(out, ']');
}
