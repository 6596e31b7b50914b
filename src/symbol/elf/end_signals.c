/* SPDX-License-Identifier: MIT */
#include "symbol/elf/end_signals.h"

#include <signal.h>
#include <stddef.h>

#include "base/macros.h"

bool end_signals_pending(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (sigismember(&pending, ends[i]) == 1)
			return true;
	return false;
}
