/* SPDX-License-Identifier: MIT */
/*
 * dhat: reads the heap profiles of valgrind's DHAT, and of the crate dhat of Rust, version 2.
 *
 * A program point is a sample. Sample types are those of auger heap where they mean the same:
 * alloc_ is all, peak_ what was there at the time of the most, inuse_ at the end; read and written
 * are bytes of accesses. Of the modes copy and ad-hoc they are copied_, and events and units.
 *
 * Source: valgrind, dhat/dh_main.c and the user manual, 10.2; docs of the crate dhat.
 */
#ifndef FORMAT_JSON_DHAT_H
#define FORMAT_JSON_DHAT_H

#include "format/format.h"

extern const struct format format_dhat;

#endif
