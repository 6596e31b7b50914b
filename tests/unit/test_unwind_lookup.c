/* SPDX-License-Identifier: MIT */
#include "unwind/lookup.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "tap.h"
#include "unwind/table.h"

/* The rules of a file both ways. */
struct both {
	struct unwind_lookup *lookup;
	struct unwind_table *table;
};

static bool open_both(struct both *b, const char *path)
{
	struct elf_image image;
	struct err e = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = CHECK(fd >= 0) && CHECK_INT(elf_image_open_fd(&image, fd, path, &e), 0);

	*b = (struct both){ 0 };
	if (ok) {
		ok = CHECK_INT(unwind_lookup_new(&image, fd, &b->lookup), 0);
		ok = CHECK_INT(unwind_table_new(&image, NULL, &b->table, &e), 0) && ok;
		elf_image_close(&image);
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

static void close_both(struct both *b)
{
	unwind_lookup_free(b->lookup);
	unwind_table_free(b->table);
}

/* What the table knows beyond .eh_frame: code that restores signals, or starts the program. */
static bool is_guess(const struct unwind_rule *rule, const struct unwind_rule *found)
{
	return found->cfa == UNWIND_CFA_NONE &&
	       (rule->cfa == UNWIND_CFA_SIGNAL || rule->cfa == UNWIND_CFA_END);
}

static void compare(const struct both *b, uint64_t vaddr)
{
	const struct unwind_rule *want = unwind_table_find(b->table, vaddr);
	const struct unwind_rule *got = unwind_lookup_find(b->lookup, vaddr);

	if (!is_guess(want, got) && !CHECK(memcmp(want, got, sizeof *want) == 0))
		fprintf(stderr, "%#llx: cfa %d, want %d\n", (unsigned long long)vaddr, got->cfa,
			want->cfa);
}

/* At each address where the rule changes, and the one before. */
static void check_file(const char *path)
{
	struct both b;

	if (open_both(&b, path)) {
		struct unwind_table_size size = unwind_table_measure(b.table);

		CHECK(size.rows > 10);
		for (uint32_t i = 0; i < size.rows; i++) {
			uint64_t vaddr;

			unwind_table_row(b.table, i, &vaddr);
			compare(&b, vaddr);
			if (i > 0)
				compare(&b, vaddr - 1);
		}
		CHECK_INT(unwind_lookup_find(b.lookup, 0)->cfa, UNWIND_CFA_NONE);
		CHECK_INT(unwind_lookup_find(b.lookup, UINT64_MAX)->cfa, UNWIND_CFA_NONE);
		CHECK_INT(unwind_lookup_find(b.lookup, UINT64_C(1) << 40)->cfa, UNWIND_CFA_NONE);
	}
	close_both(&b);
}

static void test_libc(void)
{
	Dl_info info;

	if (CHECK(dladdr((void *)(uintptr_t)&strlen, &info)))
		check_file(info.dli_fname);
}

static void test_own(void)
{
	check_file("/proc/self/exe");
}

static void test_interpreter(void)
{
	check_file("/bin/sh");
}

int main(void)
{
	TAP_CASE(test_libc);
	TAP_CASE(test_own);
	TAP_CASE(test_interpreter);
	return tap_done();
}
