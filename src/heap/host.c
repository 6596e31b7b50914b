/* SPDX-License-Identifier: MIT */
#include "heap/host.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/elf_image.h"
#include "base/path.h"
#include "base/str.h"
#include "heap/elf_functions.h"
#include "heap/mapped_file.h"
#include "target/proc.h"
#include "target/program.h"

#define SCRIPTS_MAX 5                    /* scripts that run scripts, as the kernel allows */
#define HEADERS_MAX (UINT64_C(64) << 20) /* bytes read of a program: headers, names of symbols */

#ifdef __aarch64__
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

/* Does it get rights by its execution, for which ld.so ignores LD_PRELOAD? */
static bool is_privileged(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid()))
		return true;
	return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool find_sanitizer(const Elf64_Sym *symbol, struct str name, void *context)
{
	static const char *const names[] = { "__asan_init", "__hwasan_init", "__tsan_init",
					     "__msan_init", "__lsan_init" };
	const char **found = context;

	(void)symbol;
	for (size_t i = 0; i < ARRAY_LEN(names) && !*found; i++)
		if (str_equals(name, names[i]))
			*found = names[i];
	return !*found;
}

static int check_loader(const struct elf_image *image, const char *path, struct err *e)
{
	struct elf_segment s;
	const unsigned char *bytes;
	struct str loader;

	if (!elf_find_segment(image, PT_INTERP, &s))
		return err_usage(e, "%s is linked statically: no library can be loaded into it",
				 path);
	bytes = elf_bytes(image, s.offset, s.file_size);
	if (!bytes)
		return 0;
	loader = (struct str){ (const char *)bytes, strnlen((const char *)bytes, s.file_size) };
	if (str_find(loader, "ld-musl") < loader.len)
		return err_usage(e, "%s is for musl: the library needs glibc", path);
	return 0;
}

static int check_image(const struct elf_image *image, const char *path, struct err *e)
{
	const char *sanitizer = NULL; /* a symbol by which its run-time library is used */

	if (!image->is_64 || image->machine != OUR_MACHINE)
		return err_usage(e, "%s is for another processor than auger", path);
	if (check_loader(image, path, e) < 0)
		return e->code;
	elf_symbols_each(image, find_sanitizer, &sanitizer);
	if (sanitizer)
		return err_usage(e,
				 "%s has the allocator of a sanitizer (%s): build it without one",
				 path, sanitizer);
	return 0;
}

int heap_check_host(const char *name, struct err *e)
{
	struct elf_image image;
	struct script script;
	char path[PATH_MAX];
	struct err none;
	int rc;

	if (!program_find(name, path))
		return 0;
	for (int i = 0; i < SCRIPTS_MAX && program_is_script(path, &script); i++)
		snprintf(path, sizeof path, "%s", script.interpreter);
	if (is_privileged(path))
		return err_usage(e, "%s is set-id: nothing can be preloaded into it", path);
	if (elf_image_open(&image, path, &none) < 0)
		return 0;
	elf_image_limit(&image, HEADERS_MAX);
	rc = check_image(&image, path, e);
	elf_image_close(&image);
	return rc;
}

/* Its mapped files say what its program's own file does not. 0: nothing against it. */
static int check_map(const struct proc_map *m, void *context)
{
	static const char *const sanitizers[] = { "libasan.so",       "libtsan.so",
						  "libhwasan.so",     "libclang_rt.asan",
						  "libclang_rt.tsan", "libclang_rt.hwasan" };
	const char **found = context;

	if (text_starts_with(path_base(m->path), HEAP_LIBRARY)) {
		*found = HEAP_LIBRARY;
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(sanitizers); i++)
		if (text_starts_with(path_base(m->path), sanitizers[i]))
			*found = sanitizers[i];
	return *found != NULL;
}

static int check_maps(pid_t pid, const char *name, struct err *e)
{
	CLEANUP(buf_fini) struct buf maps = { 0 };
	const char *found = NULL;
	int rc = mapped_read(pid, &maps, e);

	if (rc == 0)
		rc = mapped_each(&maps, check_map, &found);
	if (rc == -ENOMEM)
		return err_nomem(e);
	if (rc < 0)
		return rc;
	if (found && strcmp(found, HEAP_LIBRARY) == 0)
		return err_usage(e,
				 "%s was started by 'auger heap': 'auger heap --show %d' shows "
				 "what it holds",
				 name, (int)pid);
	if (found)
		return err_usage(e, "%s has the allocator of a sanitizer (%s)", name, found);
	return 0;
}

int heap_check_process(pid_t pid, struct err *e)
{
	struct proc_stat stat;
	struct elf_image image;
	char path[PROC_PATH], name[128];
	int rc;

	if (!proc_stat_read(&stat, pid) || stat.state == 'Z' || stat.state == 'X')
		return err_set(e, -ESRCH, "process %d: there is none", (int)pid);
	snprintf(name, sizeof name, "process %d (%s)", (int)pid, stat.comm);
	if (stat.is_kernel)
		return err_usage(e, "%s is a thread of the kernel", name);
	if (proc_is_set_id(pid))
		return err_usage(e, "%s is set-id: nothing is loaded into it", name);
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (elf_image_open(&image, path, e) < 0)
		return e->code;
	elf_image_limit(&image, HEADERS_MAX);
	rc = check_image(&image, name, e);
	elf_image_close(&image);
	return rc == 0 ? check_maps(pid, name, e) : rc;
}
