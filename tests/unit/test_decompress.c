/* SPDX-License-Identifier: MIT */
#include "symbol/elf/decompress.h"

#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/log.h"
#include "tap.h"

#define PLAIN_LEN 5000

/* An ELF file with the section ".debug_x" (or ".zdebug_x"). */
struct packed_elf {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
	unsigned char data[8192];
};

static void fill(unsigned char *plain)
{
	for (size_t i = 0; i < PLAIN_LEN; i++)
		plain[i] = (unsigned char)(i * i >> 5);
}

static struct elf_image make(struct packed_elf *f, const char *name, uint64_t flags, size_t size)
{
	struct elf_image image = { 0 };
	struct err e;

	f->header = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT },
				  .e_shoff = offsetof(struct packed_elf, sections),
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = 3,
				  .e_shstrndx = 1 };
	f->sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct packed_elf, names),
				       .sh_size = sizeof f->names };
	f->sections[2] = (Elf64_Shdr){ .sh_name = 1,
				       .sh_type = SHT_PROGBITS,
				       .sh_flags = flags,
				       .sh_offset = offsetof(struct packed_elf, data),
				       .sh_size = size };
	snprintf(f->names + 1, sizeof f->names - 1, "%s", name);
	CHECK_INT(elf_image_init(&image, f, sizeof *f, &e), 0);
	return image;
}

/* What a section of these bytes unpacks to: PLAIN_LEN bytes, or nothing. */
static void check(struct packed_elf *f, const char *name, uint64_t flags, size_t size,
		  size_t want_len)
{
	struct elf_image image = make(f, name, flags, size);
	unsigned char plain[PLAIN_LEN];
	struct section_bytes got;

	fill(plain);
	CHECK_INT(decompress_section(&image, ".debug_x", &got), 0);
	CHECK_INT(got.len, want_len);
	if (want_len)
		CHECK(memcmp(got.data, plain, want_len) == 0);
	section_bytes_fini(&got);
}

/* A compression header and a zlib stream behind it. Returns the size of both. */
static size_t pack(struct packed_elf *f, uint32_t type, uint64_t len)
{
	Elf64_Chdr header = { .ch_type = type, .ch_size = len, .ch_addralign = 1 };
	unsigned char plain[PLAIN_LEN];
	uLongf size = sizeof f->data - sizeof header;

	fill(plain);
	memcpy(f->data, &header, sizeof header);
	CHECK_INT(compress(f->data + sizeof header, &size, plain, PLAIN_LEN), Z_OK);
	return sizeof header + size;
}

static void test_plain(void)
{
	struct packed_elf *f = calloc(1, sizeof *f);

	fill(f->data);
	check(f, ".debug_x", 0, PLAIN_LEN, PLAIN_LEN);
	check(f, ".debug_y", 0, PLAIN_LEN, 0);
	check(f, ".debug_x", 0, 0, 0);
	check(f, ".debug_x", 0, SIZE_MAX, 0);
	free(f);
}

static void test_zlib(void)
{
	struct packed_elf *f = calloc(1, sizeof *f);
	size_t size = pack(f, ELFCOMPRESS_ZLIB, PLAIN_LEN);

	check(f, ".debug_x", SHF_COMPRESSED, size, PLAIN_LEN);
	check(f, ".debug_x", SHF_COMPRESSED, size - 100, 0); /* cut short */
	check(f, ".debug_x", SHF_COMPRESSED, 20, 0);         /* no whole header */
	f->data[100] ^= 0xff;
	check(f, ".debug_x", SHF_COMPRESSED, size, 0);
	size = pack(f, ELFCOMPRESS_ZLIB, PLAIN_LEN + 1);
	check(f, ".debug_x", SHF_COMPRESSED, size, 0);
	size = pack(f, ELFCOMPRESS_ZLIB, PLAIN_LEN - 1);
	check(f, ".debug_x", SHF_COMPRESSED, size, 0);
	size = pack(f, ELFCOMPRESS_ZLIB, UINT64_MAX / 2); /* more than can be */
	check(f, ".debug_x", SHF_COMPRESSED, size, 0);
	size = pack(f, 77, PLAIN_LEN); /* of an unknown kind */
	check(f, ".debug_x", SHF_COMPRESSED, size, 0);
	free(f);
}

static void test_zdebug(void)
{
	static const unsigned char header[12] = {
		'Z', 'L', 'I', 'B', 0, 0, 0, 0, 0, 0, PLAIN_LEN >> 8, PLAIN_LEN & 0xff
	};
	struct packed_elf *f = calloc(1, sizeof *f);
	size_t size = pack(f, 0, 0) - sizeof(Elf64_Chdr);

	memmove(f->data + sizeof header, f->data + sizeof(Elf64_Chdr), size);
	memcpy(f->data, header, sizeof header);
	check(f, ".zdebug_x", 0, sizeof header + size, PLAIN_LEN);
	f->data[0] = 'z';
	check(f, ".zdebug_x", 0, sizeof header + size, 0);
	free(f);
}

static void test_xz(void)
{
	unsigned char plain[PLAIN_LEN], packed[8192];
	struct section_bytes got;
	size_t size = 0;

	fill(plain);
	if (!CHECK_INT(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, plain, PLAIN_LEN, packed,
					       &size, sizeof packed),
		       LZMA_OK))
		return;
	CHECK_INT(decompress_xz(packed, size, &got), 0);
	if (CHECK_INT(got.len, PLAIN_LEN))
		CHECK(memcmp(got.data, plain, PLAIN_LEN) == 0);
	section_bytes_fini(&got);
	CHECK_INT(decompress_xz(packed, size - 30, &got), 0);
	CHECK_INT(got.len, 0);
	packed[size / 2] ^= 0xff;
	CHECK_INT(decompress_xz(packed, size, &got), 0);
	CHECK_INT(got.len, 0);
	CHECK_INT(decompress_xz(packed, 0, &got), 0);
	CHECK_INT(got.len, 0);
}

static int log_lines;

static void count_line(enum log_level level, const char *domain, const char *text)
{
	(void)level;
	(void)domain;
	(void)text;
	log_lines++;
}

/* len zeros in a section: the largest that is read, and what is refused with a line. */
static void check_zeros(size_t len, bool is_read)
{
	struct packed_elf *f = calloc(1, sizeof *f + len / 512);
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = len, .ch_addralign = 1 };
	unsigned char *zeros = calloc(1, len);
	uLongf size = len / 512;
	struct section_bytes got;
	struct elf_image image;
	struct err e;

	make(f, ".debug_x", SHF_COMPRESSED, 0);
	memcpy(f->data, &header, sizeof header);
	CHECK_INT(compress(f->data + sizeof header, &size, zeros, len), Z_OK);
	f->sections[2].sh_size = sizeof header + size;
	CHECK_INT(elf_image_init(&image, f, sizeof *f + len / 512, &e), 0);
	log_lines = 0;
	CHECK_INT(decompress_section(&image, ".debug_x", &got), 0);
	CHECK_INT(got.len, is_read ? len : 0);
	CHECK_INT(log_lines, is_read ? 0 : 1);
	section_bytes_fini(&got);
	free(zeros);
	free(f);
}

static void test_xz_bomb(void)
{
	size_t len = DECOMPRESS_SMALL + (1 << 20), size = 0, room = len / 512;
	unsigned char *zeros = calloc(1, len), *packed = malloc(room);
	struct section_bytes got;

	log_lines = 0;
	log_open(count_line, NULL);
	CHECK_INT(
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, zeros, len, packed, &size, room),
		LZMA_OK);
	CHECK_INT(decompress_xz(packed, size, &got), 0);
	CHECK_INT(got.len, 0);
	CHECK_INT(log_lines, 1);
	log_open(NULL, NULL);
	free(zeros);
	free(packed);
}

static void test_bombs(void)
{
	log_open(count_line, NULL);
	check_zeros(DECOMPRESS_SMALL, true);
	check_zeros(DECOMPRESS_SMALL + 1, false);
	log_open(NULL, NULL);
}

int main(void)
{
	TAP_CASE(test_plain);
	TAP_CASE(test_zlib);
	TAP_CASE(test_zdebug);
	TAP_CASE(test_xz);
	TAP_CASE(test_bombs);
	TAP_CASE(test_xz_bomb);
	return tap_done();
}
