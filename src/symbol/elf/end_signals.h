/* SPDX-License-Identifier: MIT */
/*
 * end_signals: is a signal pending that ends the program once it is unblocked? For work that may
 * take long while these signals are blocked.
 */
#ifndef SYMBOL_ELF_END_SIGNALS_H
#define SYMBOL_ELF_END_SIGNALS_H

#include <stdbool.h>

/* SIGINT, SIGTERM, SIGHUP or SIGQUIT. */
bool end_signals_pending(void);

#endif
