/* SPDX-License-Identifier: MIT */
/*
 * debuginfod: requests debug files by build id from the servers in DEBUGINFOD_URLS.
 *
 * libdebuginfod fetches them, and keeps them in its cache. It is opened when the first file is
 * wanted; without the variable there is no request. One file at a time is fetched, for any thread.
 * A server that sends nothing for DEBUGINFOD_TIMEOUT seconds (30), or fails in another way than by
 * lacking the file, is not asked again: a warning has the reason. root fetches nothing into a
 * folder that another user can write to. A pending signal that ends us (end_signals.h) ends
 * the request.
 *
 * Source: debuginfod_find_debuginfo(3), debuginfod-client-config(7); elfutils 0.178.
 */
#ifndef SYMBOL_ELF_DEBUGINFOD_H
#define SYMBOL_ELF_DEBUGINFOD_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

/* done, total: bytes; total 0: not known yet. build_id NULL: the request has ended. */
typedef void debuginfod_progress(const char *build_id, uint64_t done, uint64_t total);

/* Shows requests; NULL: nobody does. Before any thread makes one. */
void debuginfod_show(debuginfod_progress *show);

/* Requests go to these servers, whatever DEBUGINFOD_URLS says; "": to none. Borrowed for good.
 * Programs that are started before the first request do not inherit them. Before any thread makes
 * one. */
void debuginfod_set_urls(const char *urls);

const char *debuginfod_urls(void); /* NULL: none */

/* Opens the library. 0, -ENOTSUP, -ENOMEM. */
int debuginfod_load(struct err *e) MUST_CHECK;

/* A descriptor of the debug file, or -errno: -EINVAL when build_id is not lower-case hex, -ENOENT
 * when no server has it or none is named. What a server sent is not checked. */
int debuginfod_open(const char *build_id, struct err *e) MUST_CHECK;

#endif
