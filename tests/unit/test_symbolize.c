/* SPDX-License-Identifier: MIT */
/* This program itself is what gets symbolized: its own functions have known names and lines. */
#include "symbol/symbolize.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf_image.h"
#include "base/log.h"
#include "base/output/outfile.h"
#include "symbol/symbol_file.h"
#include "tap.h"

#define KEEP __attribute__((noinline, used))

static volatile int sink;

enum { HERE_LINE = __LINE__ + 5 };
static inline __attribute__((always_inline)) void *here(void)
{
	void *pc;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	return pc;
}

static KEEP void *outer(int *ret_line)
{
	void *pc;

	*ret_line = __LINE__ + 1;
	pc = here();
	sink = *ret_line;
	return pc;
}

/* Where the main program lies in memory. */
static int find_base(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;
}

static uint64_t load_bias(void)
{
	uint64_t base = 0;

	dl_iterate_phdr(find_base, &base);
	return base;
}

/* A profile with one mapping; *ret: what adds a location of it. */
static uint32_t add_mapping(struct profile *p, const char *path, uint64_t start, uint64_t limit,
			    uint64_t offset, const char *build_id)
{
	struct mapping m = { .start = start,
			     .limit = limit,
			     .offset = offset,
			     .path = profile_str(p, path),
			     .build_id = profile_str(p, build_id) };

	return profile_add_mapping(p, &m);
}

static uint32_t add_location(struct profile *p, uint32_t mapping, uint64_t address)
{
	return profile_add_location(p,
				    &(struct location){ .mapping = mapping, .address = address });
}

static const char *name_at(const struct profile *p, uint32_t location, uint32_t line)
{
	struct location l = profile_get_location(p, location);

	if (line >= l.line_count)
		return NULL;
	return profile_text(p, profile_get_function(p, l.lines[line].function)->name);
}

/* The executable segment of this program. */
static struct elf_segment own_text(void)
{
	struct elf_image image;
	struct elf_segment text = { 0 };
	struct err e;

	if (CHECK_INT(elf_image_open(&image, "/proc/self/exe", &e), 0))
		CHECK(elf_text_segment(&image, &text));
	elf_image_close(&image);
	return text;
}

/* The same address told as a virtual address of the file, and as it is in memory. */
static void test_self(void)
{
	struct profile *p = profile_new();
	struct elf_segment text = own_text();
	int line;
	uint64_t address = (uint64_t)(uintptr_t)outer(&line) - 1, bias = load_bias();
	const char *files[3] = { NULL, "/proc/self/exe", "/proc/self/exe" };
	struct symbolize_opts o = { .files = files };
	struct function f;
	uint32_t ids[2];
	struct err e;

	ids[0] = add_location(p,
			      add_mapping(p, "/gone/self", text.vaddr, text.vaddr + text.file_size,
					  text.offset, ""),
			      address - bias);
	ids[1] = add_location(p,
			      add_mapping(p, "/gone/self", text.vaddr + bias,
					  text.vaddr + bias + text.file_size, text.offset, ""),
			      address);
	CHECK_INT(profile_symbolize(p, &o, &e), 0);
	for (int i = 0; i < 2; i++) {
		struct location l = profile_get_location(p, ids[i]);

		if (!CHECK_INT(l.line_count, 2))
			continue;
		CHECK_STR(name_at(p, ids[i], 0), "here");
		CHECK_STR(name_at(p, ids[i], 1), "outer");
		CHECK_INT(l.lines[0].line, HERE_LINE);
		CHECK_INT(l.lines[1].line, line);
		f = *profile_get_function(p, l.lines[1].function);
		CHECK_INT(f.start_line, line - 5);
		CHECK(strstr(profile_text(p, f.file), "/test_symbolize.c"));
		CHECK(profile_get_mapping(p, l.mapping)->has_inline_frames);
	}
	profile_free(p);
}

static char warned[512];

static void keep_warning(enum log_level level, const char *domain, const char *text)
{
	(void)domain;
	if (level == LOG_WARN)
		snprintf(warned, sizeof warned, "%s", text);
}

/* A file that is not the one that was recorded must not name anything. */
static void test_other_build_id(void)
{
	struct profile *p = profile_new();
	uint32_t mapping = add_mapping(p, "/proc/self/exe", 0, UINT64_MAX, 0, "dead0be0");
	uint32_t id = add_location(p, mapping, (uint64_t)(uintptr_t)outer - load_bias());
	struct symbolize_opts o = { .debug_dir = "/nowhere" };
	struct err e;

	log_open(keep_warning, NULL);
	CHECK_INT(profile_symbolize(p, &o, &e), 0);
	log_open(NULL, NULL);
	CHECK_INT(profile_get_location(p, id).line_count, 0);
	CHECK(strstr(warned, "dead0be0"));
	profile_free(p);
}

static void test_vdso(void)
{
	struct profile *p = profile_new();
	struct symbol_file_opts o = { .path = NULL };
	struct symbolize_opts all = { 0 };
	struct symbol_file *f;
	struct symbol_answer answer;
	uint64_t address = 0;
	uint32_t mapping, id, other;
	struct err e;

	if (!getauxval(AT_SYSINFO_EHDR)) {
		SKIP("no vdso");
		profile_free(p);
		return;
	}
	/* Some function of it: the first address of its code that has a name. */
	mapping = add_mapping(p, "[vdso]", 0, 0x4000, 0, "");
	if (CHECK_INT(symbol_file_open(&o, &f, &e), 0)) {
		for (uint64_t at = 0x100; !address && at < 0x2000; at += 0x10) {
			if (symbol_file_lookup(f, &at, 1, &answer, &e) < 0)
				break;
			if (answer.first[1])
				address = at;
			symbol_answer_fini(&answer);
		}
		symbol_file_close(f);
	}
	CHECK(address);
	id = add_location(p, mapping, address);
	/* The vdso of a 32-bit program is not ours. */
	mapping = add_mapping(p, "[vdso]", 0xf7fc0000, 0xf7fc4000, 0, "");
	other = add_location(p, mapping, 0xf7fc0000 + address);
	CHECK_INT(profile_symbolize(p, &all, &e), 0);
	CHECK_INT(profile_get_location(p, id).line_count, 1);
	CHECK_INT(profile_get_location(p, other).line_count, 0);
	profile_free(p);
}

static void write_text(const char *folder, const char *name, const char *text)
{
	char path[300];
	struct err e;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	CHECK_INT(outfile_replace(path, text, strlen(text), &e), 0);
}

static void remove_text(const char *folder, const char *name)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
}

static void test_kernel_and_jit(void)
{
	struct profile *p = profile_new();
	char folder[256], kallsyms[300];
	struct symbolize_opts o = { .kallsyms = kallsyms, .perf_map_dir = folder };
	uint32_t kernel = add_mapping(p, "[kernel.kallsyms]", 0, UINT64_MAX, 0, "");
	uint32_t jit = add_mapping(p, "/tmp/perf-12.map", 0, UINT64_MAX, 0, "");
	uint32_t anon = add_mapping(p, "/tmp/perf-13.map", 0, UINT64_MAX, 0, "");
	uint32_t ids[] = { add_location(p, kernel, 0xffffffff81000010),
			   add_location(p, kernel, 0xffffffffc0000010),
			   add_location(p, jit, 0x1004), add_location(p, anon, 0x1004) };
	struct location l;
	struct err e;

	if (!CHECK(mkdtemp(tap_pattern(folder, sizeof folder))))
		return;
	snprintf(kallsyms, sizeof kallsyms, "%s/kallsyms", folder);
	write_text(folder, "kallsyms",
		   "ffffffff81000000 T do_work\nffffffffc0000000 t ext4_x\t[ext4]\n");
	write_text(folder, "perf-12.map", "1000 10 LazyCompile:*f /a b.js:1\n");
	CHECK_INT(profile_symbolize(p, &o, &e), 0);
	CHECK_STR(name_at(p, ids[0], 0), "do_work");
	CHECK_STR(name_at(p, ids[1], 0), "ext4_x");
	CHECK_STR(name_at(p, ids[2], 0), "LazyCompile:*f /a b.js:1");
	l = profile_get_location(p, ids[1]);
	CHECK_STR(profile_text(p, profile_get_mapping(p, l.mapping)->path), "[ext4]");
	CHECK(profile_get_mapping(p, l.mapping)->has_functions);
	CHECK_INT(profile_get_location(p, ids[3]).line_count, 0);
	CHECK_STR(profile_text(p, profile_get_mapping(p, anon)->path), "[anon]");
	remove_text(folder, "kallsyms");
	remove_text(folder, "perf-12.map");
	rmdir(folder);
	profile_free(p);
}

/* What has lines keeps them; mappings with functions are not asked again. */
static void test_named_before(void)
{
	struct profile *p = profile_new();
	struct elf_segment text = own_text();
	uint32_t mapping = add_mapping(p, "/proc/self/exe", text.vaddr, text.vaddr + text.file_size,
				       text.offset, "");
	struct mapping m = *profile_get_mapping(p, mapping);
	uint32_t id = add_location(p, mapping, (uint64_t)(uintptr_t)outer - load_bias());
	struct symbolize_opts o = { 0 };
	struct err e;

	m.has_functions = true;
	profile_set_mapping(p, mapping, &m);
	CHECK_INT(profile_symbolize(p, &o, &e), 0);
	CHECK_INT(profile_get_location(p, id).line_count, 0);
	m.has_functions = false;
	profile_set_mapping(p, mapping, &m);
	CHECK_INT(profile_symbolize(p, &o, &e), 0);
	CHECK_STR(name_at(p, id, 0), "outer");
	profile_free(p);
}

static void test_extent(void)
{
	struct symbol_file_opts o = { .path = "/proc/self/exe" };
	uint64_t address = (uint64_t)(uintptr_t)outer - load_bias();
	struct symbol_extent extent;
	struct symbol_file *f;
	const unsigned char *code;
	struct err e;

	if (!CHECK_INT(symbol_file_open(&o, &f, &e), 0))
		return;
	if (CHECK(symbol_file_extent(f, address + 2, &extent))) {
		CHECK_INT(extent.start, address);
		CHECK(extent.end > address + 4 && extent.end < address + 4096);
		CHECK_STR(extent.system_name, "outer");
		code = symbol_file_code(f, extent.start, extent.end - extent.start);
		CHECK(code &&
		      memcmp(code, (const void *)(uintptr_t)outer, extent.end - extent.start) == 0);
	}
	CHECK(!symbol_file_extent(f, UINT64_MAX, &extent));
	CHECK(!symbol_file_code(f, UINT64_MAX - 8, 4));
	symbol_file_close(f);
}

static void test_no_file(void)
{
	struct symbol_file *f;
	struct err e;

	CHECK_INT(symbol_file_open(&(struct symbol_file_opts){ .path = "/nowhere/x" }, &f, &e),
		  -ENOENT);
	CHECK_INT(symbol_file_open(&(struct symbol_file_opts){ .path = "/dev/zero" }, &f, &e),
		  -EINVAL);
	CHECK_INT(symbol_file_open(&(struct symbol_file_opts){ .path = "/etc/passwd" }, &f, &e),
		  -ENOEXEC);
}

int main(void)
{
	TAP_CASE(test_self);
	TAP_CASE(test_other_build_id);
	TAP_CASE(test_vdso);
	TAP_CASE(test_kernel_and_jit);
	TAP_CASE(test_named_before);
	TAP_CASE(test_extent);
	TAP_CASE(test_no_file);
	return tap_done();
}
