/* SPDX-License-Identifier: MIT */
/*
 * debuginfod_cache: is the cache of libdebuginfod safe for root?
 *
 * Source: debuginfod-client-config(7), DEBUGINFOD_CACHE_PATH; elfutils 0.188.
 */
#ifndef SYMBOL_ELF_DEBUGINFOD_CACHE_H
#define SYMBOL_ELF_DEBUGINFOD_CACHE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* Replaces what is in out by the folder that the library uses, as the environment says. Check
 * buf_error(). */
void debuginfod_cache_path(struct buf *out);

/* Makes the folders of an absolute path that are missing. -EACCES: another user than this one and
 * root can write to one of them, or replace it; -ENOTDIR: one is a link or no folder; -errno. */
int debuginfod_cache_make(const char *path, struct err *e) MUST_CHECK;

#endif
