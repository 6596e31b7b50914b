/* SPDX-License-Identifier: MIT */
/* page_files: style and script of pages, embedded from data/view by the build. */
#ifndef VIEW_PAGE_PAGE_FILES_H
#define VIEW_PAGE_PAGE_FILES_H

#include <stddef.h>

extern const char page_css[], page_js[]; /* NUL-terminated */
extern const size_t page_css_len, page_js_len;
extern const char page_policy[]; /* the content security policy that allows these two alone */
extern const size_t page_policy_len;

#endif
