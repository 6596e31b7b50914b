/* SPDX-License-Identifier: MIT */
/* flame_files: style and script of flame graphs, embedded from data/flame by the build. */
#ifndef VIEW_FLAME_FLAME_FILES_H
#define VIEW_FLAME_FLAME_FILES_H

#include <stddef.h>

extern const char flame_css[], flame_js[]; /* NUL-terminated */
extern const size_t flame_css_len, flame_js_len;

#endif
