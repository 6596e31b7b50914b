/* SPDX-License-Identifier: MIT */
#include "base/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/number.h"

#define PAGE_MASK UINT64_C(0xfff) /* of the smallest page; larger pages are multiples */

#define BLOCK ((size_t)1 << 16)      /* what is read at once */
#define FILE_MAX ((uint64_t)1 << 40) /* bytes of a file */
#define READ_MAX ((uint64_t)1 << 30) /* bytes of a file that are read in all */

/* A file whose bytes are read when they are first asked for. One mapping holds this, the bits and
 * the room for the bytes: no malloc, because the unwinder uses it inside of other programs. */
struct elf_reader {
	int fd;
	size_t mapped;    /* bytes of the mapping */
	size_t len;       /* of the file */
	uint64_t left;    /* that may still be read */
	int error;        /* negative errno of the first read that failed */
	uint8_t *is_read; /* [blocks of the file], bits */
	unsigned char *bytes;
};

static bool is_inside(const struct elf_image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->len && size <= image->len - offset;
}

static size_t block_end(const struct elf_reader *r, size_t block)
{
	return r->len - block * BLOCK < BLOCK ? r->len : (block + 1) * BLOCK;
}

static bool has_block(const struct elf_reader *r, size_t block)
{
	return r->is_read[block / 8] & 1U << block % 8;
}

static bool read_block(struct elf_reader *r, size_t block)
{
	size_t at = block * BLOCK, end = block_end(r, block);

	r->left -= end - at;
	while (at < end) {
		ssize_t n = pread(r->fd, r->bytes + at, end - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !r->error)
			r->error = -errno;
		if (n <= 0)
			return false; /* it has become shorter, or cannot be read */
		at += (size_t)n;
	}
	r->is_read[block / 8] = (uint8_t)(r->is_read[block / 8] | 1U << block % 8);
	return true;
}

/* All of it, or, where that is more than may be read, nothing. */
static bool read_range(struct elf_reader *r, uint64_t offset, uint64_t size)
{
	size_t first = offset / BLOCK, end = size ? (offset + size - 1) / BLOCK + 1 : first;
	uint64_t wanted = 0;

	for (size_t block = first; block < end; block++)
		wanted += has_block(r, block) ? 0 : block_end(r, block) - block * BLOCK;
	if (wanted > r->left)
		return false;
	for (size_t block = first; block < end; block++)
		if (!has_block(r, block) && !read_block(r, block))
			return false;
	return true;
}

const unsigned char *elf_bytes(const struct elf_image *image, uint64_t offset, uint64_t size)
{
	if (!is_inside(image, offset, size) ||
	    (image->reader && !read_range(image->reader, offset, size)))
		return NULL;
	return image->bytes + offset;
}

/* An address, offset or size: 4 or 8 bytes, by class. */
static uint64_t take_word(struct cursor *c, bool is_64)
{
	return is_64 ? cursor_u64(c) : cursor_u32(c);
}

static bool is_table_inside(const struct elf_image *image, uint64_t offset, uint32_t count,
			    uint32_t entry_size, size_t expected_size)
{
	return entry_size == expected_size &&
	       elf_bytes(image, offset, (uint64_t)count * expected_size) != NULL;
}

/* A broken table counts as absent: the rest of the file may still be of use. */
static void check_tables(struct elf_image *image, uint32_t phentsize, uint32_t shentsize)
{
	size_t ph = image->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	size_t sh = image->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);

	if (!is_table_inside(image, image->phoff, image->phnum, phentsize, ph))
		image->phnum = 0;
	/* More sections than 16 bits: their number is in the first one. */
	if (image->shoff && image->shnum == 0 &&
	    is_table_inside(image, image->shoff, 1, shentsize, sh)) {
		uint64_t count = elf_get_section(image, 0).size;

		image->shnum = count < UINT32_MAX ? (uint32_t)count : 0;
	}
	if (!is_table_inside(image, image->shoff, image->shnum, shentsize, sh))
		image->shnum = 0;
}

static int parse_header(struct elf_image *image, struct err *e)
{
	size_t len = image->len < sizeof(Elf64_Ehdr) ? image->len : sizeof(Elf64_Ehdr);
	struct cursor c = cursor_make(elf_bytes(image, 0, len), len);
	const unsigned char *ident = cursor_bytes(&c, EI_NIDENT);
	uint32_t phentsize, shentsize;

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return err_set(e, -ENOEXEC, "not an ELF file");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return err_set(e, -ENOEXEC, "not a little-endian ELF file");
	if (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32)
		return err_set(e, -ENOEXEC, "neither a 32 nor a 64 bit ELF file");
	image->is_64 = ident[EI_CLASS] == ELFCLASS64;
	image->type = cursor_u16(&c);
	image->machine = cursor_u16(&c);
	cursor_skip(&c, 4); /* e_version */
	image->entry = take_word(&c, image->is_64);
	image->phoff = take_word(&c, image->is_64);
	image->shoff = take_word(&c, image->is_64);
	cursor_skip(&c, 4 + 2); /* e_flags, e_ehsize */
	phentsize = cursor_u16(&c);
	image->phnum = cursor_u16(&c);
	shentsize = cursor_u16(&c);
	image->shnum = cursor_u16(&c);
	image->shstrndx = cursor_u16(&c);
	if (c.bad)
		return err_set(e, -ENOEXEC, "ELF header cut short");
	check_tables(image, phentsize, shentsize);
	if (image->shstrndx == SHN_XINDEX && image->shnum) {
		/* sh_link of the first section, 10 words of 4 or 8 bytes in all */
		c = cursor_make(image->bytes + image->shoff + (image->is_64 ? 40 : 24), 4);
		image->shstrndx = cursor_u32(&c);
	}
	return 0;
}

static int init(struct elf_image *ret, struct elf_reader *reader, const void *bytes, size_t len,
		struct err *e)
{
	struct elf_image image = { .bytes = bytes, .len = len, .reader = reader };
	int rc = parse_header(&image, e);

	if (rc == 0)
		*ret = image;
	return rc;
}

int elf_image_init(struct elf_image *ret, const void *bytes, size_t len, struct err *e)
{
	return init(ret, NULL, bytes, len, e);
}

static void close_reader(struct elf_reader *r)
{
	close(r->fd);
	munmap(r, r->mapped);
}

static int open_reader(struct elf_reader **ret, int fd, size_t len, const char *name, struct err *e)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	size_t bits = sizeof(struct elf_reader) + len / BLOCK / 8 + 1;
	size_t before = (bits + PAGE_MASK) & ~(size_t)PAGE_MASK;
	/* cppcheck-suppress invalidFunctionArg */
	struct elf_reader *r = mmap(NULL, before + len, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (r == MAP_FAILED)
		return err_errno(e, "%s: cannot be read", name);
	*r = (struct elf_reader){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
				  .mapped = before + len,
				  .len = len,
				  .left = READ_MAX,
				  .is_read = (uint8_t *)(r + 1),
				  .bytes = (unsigned char *)r + before };
	if (r->fd < 0) {
		err_errno(e, "%s", name);
		munmap(r, r->mapped);
		return e->code;
	}
	*ret = r;
	return 0;
}

/* The size of a regular file. FUSE refuses fstat(2) to other users than the one who mounted it,
 * also with a descriptor that can be read: the naming process is another user. */
static int find_size(int fd, const char *name, uint64_t *ret, struct err *e)
{
	struct stat st = { 0 };
	off_t end = 0;

	if (fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return err_set(e, -EINVAL, "%s: not a regular file", name);
		end = st.st_size;
	} else if (errno == EACCES) {
		end = lseek(fd, 0, SEEK_END);
	} else {
		end = -1;
	}
	if (end < 0)
		return err_errno(e, "%s", name);
	*ret = (uint64_t)end;
	return 0;
}

int elf_image_open_fd(struct elf_image *ret, int fd, const char *name, struct err *e)
{
	struct elf_reader *reader = NULL;
	uint64_t size = 0;
	int rc = find_size(fd, name, &size, e);

	if (rc < 0)
		return rc;
	if (size == 0)
		return err_set(e, -ENOEXEC, "%s: not an ELF file", name);
	if (size > FILE_MAX)
		return err_set(e, -EFBIG, "%s: %s", name, strerror(EFBIG));
	rc = open_reader(&reader, fd, (size_t)size, name, e);
	if (rc < 0)
		return rc;
	rc = init(ret, reader, reader->bytes, reader->len, e);
	if (reader->error)
		rc = err_set(e, reader->error, "%s", strerror(-reader->error));
	if (rc < 0) {
		close_reader(reader);
		*ret = (struct elf_image){ 0 };
		return err_wrap(e, "%s", name);
	}
	return 0;
}

int elf_image_open(struct elf_image *ret, const char *path, struct err *e)
{
	CLEANUP(fd_close) int fd = file_open_regular(path, 0, e);

	if (fd < 0)
		return fd;
	return elf_image_open_fd(ret, fd, path, e);
}

void elf_image_limit(const struct elf_image *image, uint64_t bytes)
{
	if (image->reader && image->reader->left > bytes)
		image->reader->left = bytes;
}

int elf_image_error(const struct elf_image *image)
{
	return image->reader ? image->reader->error : 0;
}

void elf_image_close(struct elf_image *image)
{
	if (image->reader)
		close_reader(image->reader);
	*image = (struct elf_image){ 0 };
}

struct elf_segment elf_get_segment(const struct elf_image *image, uint32_t index)
{
	size_t size = image->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	struct cursor c = cursor_make(image->bytes + image->phoff + index * size, size);
	struct elf_segment s = { .type = cursor_u32(&c) };
	uint32_t flags = 0;

	if (image->is_64)
		flags = cursor_u32(&c);
	s.offset = take_word(&c, image->is_64);
	s.vaddr = take_word(&c, image->is_64);
	take_word(&c, image->is_64); /* p_paddr */
	s.file_size = take_word(&c, image->is_64);
	s.mem_size = take_word(&c, image->is_64);
	if (!image->is_64)
		flags = cursor_u32(&c);
	s.is_executable = flags & PF_X;
	return s;
}

struct elf_section elf_get_section(const struct elf_image *image, uint32_t index)
{
	size_t size = image->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct cursor c = cursor_make(image->bytes + image->shoff + index * size, size);
	struct elf_section s = { 0 };

	cursor_skip(&c, 4); /* sh_name */
	s.type = cursor_u32(&c);
	s.flags = take_word(&c, image->is_64);
	s.vaddr = take_word(&c, image->is_64);
	s.offset = take_word(&c, image->is_64);
	s.size = take_word(&c, image->is_64);
	s.link = cursor_u32(&c);
	s.info = cursor_u32(&c);
	take_word(&c, image->is_64); /* sh_addralign */
	s.entry_size = take_word(&c, image->is_64);
	return s;
}

bool elf_find_segment(const struct elf_image *image, uint32_t type, struct elf_segment *ret)
{
	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type != type || !is_inside(image, s.offset, s.file_size))
			continue;
		*ret = s;
		return true;
	}
	return false;
}

const unsigned char *elf_section_bytes(const struct elf_image *image, const struct elf_section *s)
{
	if (s->type == SHT_NOBITS || s->type == SHT_NULL || s->size == 0)
		return NULL;
	return elf_bytes(image, s->offset, s->size);
}

static bool has_name(const struct elf_image *image, uint32_t index, struct cursor names,
		     const char *name)
{
	size_t size = image->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct cursor c = cursor_make(image->bytes + image->shoff + index * size, 4);
	size_t len = strlen(name) + 1;
	const unsigned char *at;

	cursor_skip(&names, cursor_u32(&c));
	at = cursor_bytes(&names, len);
	return at && memcmp(at, name, len) == 0;
}

bool elf_find_section(const struct elf_image *image, const char *name, struct elf_section *ret)
{
	struct elf_section strings;
	const unsigned char *bytes;
	struct cursor names;

	if (image->shstrndx >= image->shnum)
		return false;
	strings = elf_get_section(image, image->shstrndx);
	bytes = elf_section_bytes(image, &strings);
	if (!bytes)
		return false;
	names = cursor_make(bytes, strings.size);
	for (uint32_t i = 0; i < image->shnum; i++) {
		if (!has_name(image, i, names, name))
			continue;
		*ret = elf_get_section(image, i);
		return true;
	}
	return false;
}

bool elf_text_segment(const struct elf_image *image, struct elf_segment *ret)
{
	bool found = false;

	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type != PT_LOAD || !s.is_executable)
			continue;
		if (!found || s.file_size > ret->file_size)
			*ret = s;
		found = true;
	}
	return found;
}

/* Is at in [start..start+size)? 2 = yes, 1 = only in its pages, 0 = no. */
static int position(uint64_t at, uint64_t start, uint64_t size)
{
	uint64_t front = start & PAGE_MASK;

	if (at - start < size)
		return 2;
	return at - (start - front) < ((front + size + PAGE_MASK) & ~PAGE_MASK);
}

/* The PT_LOAD of an offset, or of a vaddr. */
static bool find_load(const struct elf_image *image, uint64_t at, bool is_vaddr,
		      struct elf_segment *ret)
{
	int best = 0;

	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);
		int rank;

		if (s.type != PT_LOAD || s.file_size == 0)
			continue;
		rank = 2 * position(at, is_vaddr ? s.vaddr : s.offset, s.file_size);
		if (rank && s.is_executable)
			rank++;
		if (rank <= best)
			continue;
		best = rank;
		*ret = s;
	}
	return best > 0;
}

bool elf_vaddr_of_offset(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr)
{
	struct elf_segment s;

	if (!find_load(image, offset, false, &s))
		return false;
	*ret_vaddr = offset - s.offset + s.vaddr;
	return true;
}

bool elf_offset_of_vaddr(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset)
{
	struct elf_segment s;

	if (!find_load(image, vaddr, true, &s))
		return false;
	*ret_offset = vaddr - s.vaddr + s.offset;
	return true;
}

/* Bytes that [a..a+a_len) and [b..b+b_len) share. */
static uint64_t overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	uint64_t skip;

	if (a > b)
		return overlap(b, b_len, a, a_len);
	skip = b - a;
	if (skip >= a_len)
		return 0;
	return a_len - skip < b_len ? a_len - skip : b_len;
}

bool elf_load_bias(const struct elf_image *image, uint64_t start, uint64_t len, uint64_t offset,
		   uint64_t *ret_bias)
{
	bool best_is_executable = false;
	uint64_t best = 0;

	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);
		uint64_t shared;

		if (s.type != PT_LOAD || (best_is_executable && !s.is_executable))
			continue;
		shared = overlap(s.offset, s.file_size, offset, len);
		if (shared == 0 || (shared <= best && best_is_executable == s.is_executable))
			continue;
		best = shared;
		best_is_executable = s.is_executable;
		*ret_bias = start - offset + s.offset - s.vaddr;
	}
	return best > 0;
}

/* The build id among notes of 4-byte alignment; NULL: not there. */
static const unsigned char *find_build_id(struct cursor notes, size_t *ret_len)
{
	while (cursor_left(&notes) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_len = cursor_u32(&notes);
		uint32_t len = cursor_u32(&notes);
		uint32_t type = cursor_u32(&notes);
		const unsigned char *name = cursor_bytes(&notes, name_len);
		const unsigned char *id;

		cursor_skip(&notes, -name_len & 3);
		id = cursor_bytes(&notes, len);
		if (!name || !id)
			return NULL;
		if (type == NT_GNU_BUILD_ID && name_len == sizeof ELF_NOTE_GNU &&
		    memcmp(name, ELF_NOTE_GNU, name_len) == 0 && len && len <= ELF_BUILD_ID_MAX) {
			*ret_len = len;
			return id;
		}
		cursor_skip(&notes, -len & 3);
	}
	return NULL;
}

/* In segments first: they are what a stripped file and the vdso have. */
static const unsigned char *build_id_bytes(const struct elf_image *image, size_t *ret_len)
{
	struct elf_section section;
	const unsigned char *bytes, *id;
	uint64_t budget = image->len; /* no file has its bytes twice in notes */

	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type != PT_NOTE || s.file_size > budget)
			continue;
		budget -= s.file_size;
		bytes = elf_bytes(image, s.offset, s.file_size);
		id = bytes ? find_build_id(cursor_make(bytes, s.file_size), ret_len) : NULL;
		if (id)
			return id;
	}
	if (!elf_find_section(image, ".note.gnu.build-id", &section))
		return NULL;
	bytes = elf_section_bytes(image, &section);
	return bytes ? find_build_id(cursor_make(bytes, section.size), ret_len) : NULL;
}

bool elf_build_id(const struct elf_image *image, char ret_hex[ELF_BUILD_ID_HEX])
{
	size_t len = 0;
	const unsigned char *id = build_id_bytes(image, &len);

	number_print_hex(ret_hex, id, id ? len : 0);
	return id != NULL;
}
