/* SPDX-License-Identifier: MIT */
/*
 * java_locations: the lines behind the samples of a legacy profile of Java, which name addresses.
 *
 *	0x00000000 com.example.Main.run (Main.java:17)
 *	0x00000001 inflate (/usr/lib/libzip.so)
 *	0x00000002 generated stub/JIT
 *	0x00000003 GC
 *
 * Such an address is only a number: its location is the name alone.
 */
#ifndef FORMAT_JAVA_LOCATIONS_H
#define FORMAT_JAVA_LOCATIONS_H

#include "base/cursor.h"
#include "base/macros.h"
#include "base/map.h"
#include "model/profile.h"

/* Puts the location of each address into locations; other lines are skipped. 0 or -ENOMEM. */
int java_locations_read(struct map *locations, struct profile *p, struct cursor text) MUST_CHECK;

#endif
