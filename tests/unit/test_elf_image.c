/* SPDX-License-Identifier: MIT */
#include "base/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/file.h"
#include "tap.h"

/* A 64-bit file: two PT_LOADs that share a page of the file, a note, two sections. */
struct small_elf {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
		unsigned char id[4];
	} note;
	char names[16];
	Elf64_Shdr sections[3];
	unsigned char text[8];
};

static struct small_elf make_small(void)
{
	struct small_elf f = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_entry = 0x2180,
			    .e_phoff = offsetof(struct small_elf, segments),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 3,
			    .e_shoff = offsetof(struct small_elf, sections),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3,
			    .e_shstrndx = 1 },
		.segments = { { .p_type = PT_LOAD,
				.p_flags = PF_R,
				.p_filesz = 0x180,
				.p_memsz = 0x180 },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = 0x180,
				.p_vaddr = 0x2180,
				.p_filesz = 0x1000,
				.p_memsz = 0x1000 },
			      { .p_type = PT_NOTE,
				.p_offset = offsetof(struct small_elf, note),
				.p_filesz = sizeof f.note } },
		.note = { .header = { 4, 4, NT_GNU_BUILD_ID },
			  .name = "GNU",
			  .id = { 0xde, 0xad, 0x0b, 0xe0 } },
		.names = "\0.names\0.text",
		.sections = { { 0 },
			      { .sh_name = 1,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct small_elf, names),
				.sh_size = 16 },
			      { .sh_name = 8,
				.sh_type = SHT_PROGBITS,
				.sh_addr = 0x2190,
				.sh_offset = offsetof(struct small_elf, text),
				.sh_size = 8 } },
	};

	return f;
}

static void test_small(void)
{
	struct small_elf f = make_small();
	struct elf_image image;
	struct elf_segment text;
	struct elf_section section;
	char id[ELF_BUILD_ID_HEX];
	struct err e;

	if (!CHECK_INT(elf_image_init(&image, &f, sizeof f, &e), 0))
		return;
	CHECK_INT(image.machine, EM_X86_64);
	CHECK_INT(image.type, ET_DYN);
	CHECK_INT(image.entry, 0x2180);
	CHECK(elf_build_id(&image, id));
	CHECK_STR(id, "dead0be0");
	if (CHECK(elf_text_segment(&image, &text)))
		CHECK_INT(text.vaddr, 0x2180);
	CHECK(!elf_find_section(&image, ".tex", &section));
	if (CHECK(elf_find_section(&image, ".text", &section))) {
		CHECK_INT(section.vaddr, 0x2190);
		CHECK(elf_section_bytes(&image, &section) == (unsigned char *)&f + section.offset);
	}
	CHECK(!elf_find_segment(&image, PT_GNU_EH_FRAME, &text));
}

static void test_addresses(void)
{
	static const struct {
		uint64_t offset;
		uint64_t vaddr; /* 0: in no segment */
	} rows[] = {
		{ 0x17f, 0x17f },   { 0x180, 0x2180 },  { 0x200, 0x2200 },
		{ 0x117f, 0x317f }, { 0x1180, 0x3180 }, /* the rest of the last page */
		{ 0x1fff, 0x3fff }, { 0x2000, 0 },      { UINT64_MAX, 0 },
	};
	static const struct {
		uint64_t start, len, offset;
		uint64_t bias;
		bool found;
	} maps[] = {
		{ 0x555500002000, 0x2000, 0, 0x555500000000, true }, /* the executable one wins */
		{ 0x555500000000, 0x100, 0, 0x555500000000, true },
		{ 0x555500003000, 0x1000, 0x1000, 0x555500000000, true },
		{ 0x555500003000, 0x1000, 0x2000, 0, false },
		{ 0x1000, 0x1000, 0x1000, UINT64_C(0) - 0x2000, true },
	};
	struct small_elf f = make_small();
	struct elf_image image;
	struct err e;

	if (!CHECK_INT(elf_image_init(&image, &f, sizeof f, &e), 0))
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t vaddr = 0, offset = 0;

		CHECK_INT(elf_vaddr_of_offset(&image, rows[i].offset, &vaddr), rows[i].vaddr != 0);
		CHECK_INT(vaddr, rows[i].vaddr);
		if (vaddr && CHECK(elf_offset_of_vaddr(&image, vaddr, &offset)))
			CHECK_INT(offset, rows[i].offset);
	}
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		uint64_t bias = 0;

		CHECK_INT(elf_load_bias(&image, maps[i].start, maps[i].len, maps[i].offset, &bias),
			  maps[i].found);
		CHECK_INT(bias, maps[i].bias);
	}
}

/* Asks everything; for images whose answers do not matter, only that they are given. */
static void ask_all(const struct elf_image *image)
{
	char id[ELF_BUILD_ID_HEX];
	struct elf_segment segment;
	struct elf_section section;
	uint64_t ignored;

	elf_build_id(image, id);
	elf_text_segment(image, &segment);
	elf_find_segment(image, PT_DYNAMIC, &segment);
	elf_vaddr_of_offset(image, 0x200, &ignored);
	elf_load_bias(image, 0x1000, 0x1000, 0, &ignored);
	if (elf_find_section(image, ".text", &section))
		elf_section_bytes(image, &section);
}

/* Exact copies on the heap, so that a read behind the end is seen by the sanitizer. */
static void test_broken(void)
{
	struct small_elf whole = make_small();
	struct elf_image image;
	struct err e;

	for (size_t len = 0; len <= sizeof whole; len++) {
		unsigned char *part = malloc(len ? len : 1);

		memcpy(part, &whole, len);
		if (elf_image_init(&image, part, len, &e) == 0)
			ask_all(&image);
		else
			CHECK(len < sizeof(Elf64_Ehdr));
		free(part);
	}
	for (size_t at = 4; at < sizeof whole; at++) {
		static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };

		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			struct small_elf *f = malloc(sizeof *f);

			*f = whole;
			((unsigned char *)f)[at] = values[i];
			if (elf_image_init(&image, f, sizeof *f, &e) == 0)
				ask_all(&image);
			free(f);
		}
	}
}

static void test_refused(void)
{
	struct elf_image image;
	struct err e;

	CHECK_INT(elf_image_open(&image, "/dev/null", &e), -EINVAL);
	CHECK_STR(e.msg, "/dev/null: not a regular file");
	CHECK_INT(elf_image_open(&image, "/nowhere", &e), -ENOENT);
	CHECK_INT(elf_image_open(&image, "/etc/passwd", &e), -ENOEXEC);
	CHECK_STR(e.msg, "/etc/passwd: not an ELF file");
	CHECK_INT(elf_image_init(&image, "\177ELF\2\2\1\0\0\0\0\0\0\0\0\0", 16, &e), -ENOEXEC);
}

/* This very program against what the loader knows of it. */
static int check_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct elf_image *image = arg;
	uint64_t vaddr = (uintptr_t)check_self - info->dlpi_addr;
	uint64_t offset = 0, back = 0;
	struct elf_segment text = { 0 };
	struct elf_section section = { 0 };

	(void)size;
	CHECK_INT(image->phnum, info->dlpi_phnum);
	CHECK(elf_text_segment(image, &text));
	CHECK(vaddr - text.vaddr < text.file_size);
	CHECK(elf_find_section(image, ".text", &section));
	CHECK(vaddr - section.vaddr < section.size);
	CHECK(elf_offset_of_vaddr(image, vaddr, &offset));
	CHECK(elf_vaddr_of_offset(image, offset, &back));
	CHECK_INT(back, vaddr);
	CHECK(memcmp(elf_bytes(image, offset, 16), (void *)(uintptr_t)check_self, 16) == 0);
	return 1; /* the program itself comes first */
}

static void test_self(void)
{
	struct elf_image image;
	char id[ELF_BUILD_ID_HEX];
	struct err e;

	if (!CHECK_INT(elf_image_open(&image, "/proc/self/exe", &e), 0))
		return;
	CHECK(image.is_64);
	CHECK(elf_build_id(&image, id) && strlen(id) == 40);
	dl_iterate_phdr(check_self, &image);
	elf_image_close(&image);
	CHECK(!image.bytes);
}

/* Its owner may shrink a file, or make it huge, at any moment. */
static void test_file_that_changes(void)
{
	char path[] = "/tmp/auger-test-elf.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	struct file_input self = { 0 };
	struct elf_image image;
	struct err e;

	unlink(path);
	if (!CHECK(fd >= 0) || !CHECK_INT(file_load("/proc/self/exe", &self, &e), 0) ||
	    !CHECK_INT(file_write_all(fd, self.data, self.len), 0))
		return;
	CHECK_INT(ftruncate(fd, (off_t)self.len + (1 << 20)), 0);
	if (CHECK_INT(elf_image_open_fd(&image, fd, "copy", &e), 0)) {
		const unsigned char *start = elf_bytes(&image, 0, 4096);

		CHECK(start && memcmp(start, self.data, 4096) == 0);
		CHECK_INT(ftruncate(fd, 0), 0);
		CHECK(start && memcmp(start, self.data, 4096) == 0);
		CHECK(!elf_bytes(&image, self.len + (1 << 19), 1));
		elf_image_close(&image);
	}
	CHECK_INT(file_write_all(fd, self.data, 4096), 0);
	CHECK_INT(pwrite(fd, self.data, self.len, 0), self.len);
	CHECK_INT(ftruncate(fd, INT64_C(64) << 30), 0);
	if (CHECK_INT(elf_image_open_fd(&image, fd, "sparse", &e), 0)) {
		CHECK(!elf_bytes(&image, 0, UINT64_C(63) << 30));
		CHECK(elf_bytes(&image, UINT64_C(63) << 30, 4096));
		elf_image_limit(&image, 4096);
		CHECK(!elf_bytes(&image, UINT64_C(62) << 30, 4096));
		elf_image_close(&image);
	}
	file_input_fini(&self);
	close(fd);
}

static void test_vdso(void)
{
	const void *vdso = (void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct elf_image image;
	struct elf_segment text;
	struct err e;

	if (!vdso) {
		SKIP("no vdso here");
		return;
	}
	if (CHECK_INT(elf_image_init(&image, vdso, 4096, &e), 0))
		CHECK(elf_text_segment(&image, &text));
}

int main(void)
{
	TAP_CASE(test_small);
	TAP_CASE(test_addresses);
	TAP_CASE(test_broken);
	TAP_CASE(test_refused);
	TAP_CASE(test_self);
	TAP_CASE(test_file_that_changes);
	TAP_CASE(test_vdso);
	return tap_done();
}
