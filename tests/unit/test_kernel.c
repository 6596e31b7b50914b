/* SPDX-License-Identifier: MIT */
#include "perf/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "perf/dso.h"
#include "tap.h"

#define TEXT UINT64_C(0xffffffff81000000) /* where the kernel was recorded */
#define NOW UINT64_C(0xffffffff9a000000)  /* where it is now */
#define MODULE UINT64_C(0xffffffffc0400000)

static const unsigned char build_id[20] = { 0xab, 0xcd };

/* A machine of our own: its folder, and what stands in the files. */
struct machine {
	char root[256];
};

static void put_file(const struct machine *m, const char *path, const void *bytes, size_t len)
{
	char name[300];
	FILE *f;

	snprintf(name, sizeof name, "%s%s", m->root, path);
	f = fopen(name, "w");
	if (!CHECK(f != NULL))
		return;
	CHECK_INT(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static void make_machine(struct machine *m)
{
	static const char *const folders[] = { "/proc", "/sys", "/sys/kernel" };
	static const char notes[36] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU\0\xab\xcd";
	static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
				      "ffffffff9a000000 T _text\n"
				      "ffffffff9a001000 T do_work\n";
	static const char modules[] = "xfs 1 0 - Live 0xffffffffc0100000\n"
				      "ext4 987136 2 - Live 0xffffffffc0400000 (E)\n";
	char path[300];

	CHECK(mkdtemp(tap_pattern(m->root, sizeof m->root)) != NULL);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof path, "%s%s", m->root, folders[i]);
		CHECK_INT(mkdir(path, 0700), 0);
	}
	put_file(m, "/sys/kernel/notes", notes, sizeof notes);
	put_file(m, "/proc/kallsyms", symbols, sizeof symbols - 1);
	put_file(m, "/proc/modules", modules, sizeof modules - 1);
}

static void remove_machine(const struct machine *m)
{
	static const char *const paths[] = { "/sys/kernel/notes",
					     "/proc/kallsyms",
					     "/proc/modules",
					     "/sys/kernel",
					     "/sys",
					     "/proc",
					     "" };
	char path[300];

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		snprintf(path, sizeof path, "%s%s", m->root, paths[i]);
		CHECK_INT(remove(path), 0);
	}
}

static struct record_mmap map(uint64_t start, uint64_t len, uint64_t offset, const char *path)
{
	return (struct record_mmap){
		.start = start,
		.len = len,
		.offset = offset,
		.path = { (const unsigned char *)path, strlen(path) },
	};
}

/* A recording of the kernel with this id, and two modules. */
static struct kernel *make_kernel(struct profile *p, const struct machine *m, size_t id_len)
{
	struct kernel_id id = { build_id, id_len, "", "" };
	struct kernel *k = kernel_new(p, &id, m->root);
	const struct record_mmap maps[] = {
		map(TEXT, 0x1000000, TEXT, "[kernel.kallsyms]_text"),
		map(MODULE, 0x1000, 0, "/lib/modules/6.1/ext4.ko"),
		map(MODULE + 0x1000, 0x1000, 0, "[xfs]"),
	};

	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		CHECK_INT(kernel_add_map(k, &maps[i]), 0);
	return k;
}

static const struct mapping *mapping_of(const struct profile *p, struct code_address place)
{
	return profile_get_mapping(p, place.mapping);
}

static void test_same_kernel_of_another_boot(void)
{
	struct machine m;
	struct profile *p = profile_new();
	struct kernel *k;
	struct code_address core, here, elsewhere;

	make_machine(&m);
	k = make_kernel(p, &m, sizeof build_id);
	core = kernel_locate(k, TEXT + 0x1010);
	CHECK_INT(core.address - NOW, 0x1010);
	CHECK(!mapping_of(p, core)->has_functions);
	CHECK_STR(profile_text(p, mapping_of(p, core)->path), "[kernel.kallsyms]");
	CHECK_STR(profile_text(p, mapping_of(p, core)->build_id),
		  "abcd000000000000000000000000000000000000");
	here = kernel_locate(k, MODULE + 0x10);
	CHECK_STR(profile_text(p, mapping_of(p, here)->path), "[ext4]");
	CHECK_INT(here.address - MODULE, 0x10);
	CHECK(!mapping_of(p, here)->has_functions);
	elsewhere = kernel_locate(k, MODULE + 0x1010);
	CHECK_STR(profile_text(p, mapping_of(p, elsewhere)->path), "[xfs]");
	CHECK(mapping_of(p, elsewhere)->has_functions); /* no name is right for it */
	kernel_free(k);
	profile_free(p);
	remove_machine(&m);
}

static void test_other_kernel(void)
{
	struct machine m;
	struct profile *p = profile_new();
	struct kernel *k;
	struct code_address core;

	make_machine(&m);
	k = make_kernel(p, &m, 0);
	core = kernel_locate(k, TEXT + 0x1010);
	CHECK_INT(core.address - TEXT, 0x1010);
	CHECK(mapping_of(p, core)->has_functions);
	CHECK(mapping_of(p, kernel_locate(k, MODULE))->has_functions);
	kernel_free(k);
	profile_free(p);
	remove_machine(&m);
}

static void test_symbols(void)
{
	struct profile *p = profile_new();
	struct kernel_id id = { .release = "", .host = "" };
	struct kernel *k = kernel_new(p, &id, "/no/such/root");
	struct record_ksymbol symbol = { .addr = MODULE,
					 .len = 0x100,
					 .name = { (const unsigned char *)"bpf_prog_x", 10 } };

	CHECK_INT(kernel_add_symbol(k, &symbol), 0);
	CHECK_STR(profile_text(p, kernel_locate(k, MODULE + 0xff).name), "bpf_prog_x");
	CHECK_INT(kernel_locate(k, MODULE + 0x100).name, 0);
	kernel_free(k);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_same_kernel_of_another_boot);
	TAP_CASE(test_other_kernel);
	TAP_CASE(test_symbols);
	return tap_done();
}
