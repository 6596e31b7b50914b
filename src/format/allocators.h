/* SPDX-License-Identifier: MIT */
/* allocators: the functions that heap profiles of others have at the end of their stacks. */
#ifndef FORMAT_ALLOCATORS_H
#define FORMAT_ALLOCATORS_H

/* A regular expression of their names for profile_info.drop_frames: no program's own cost is in
 * them. */
#define DROP_ALLOCATORS                                                                         \
	"(tc_|__libc_|je_|mi_)?(malloc|calloc|realloc|memalign|posix_memalign|valloc|pvalloc)|" \
	"tc_new.*|operator new(\\[\\])?|tcmalloc::.*|.*do_malloc.*|__gnu_cxx::new_allocator.*"

#endif
