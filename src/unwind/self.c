/* SPDX-License-Identifier: MIT */
#include "unwind/self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"

#define LINE_MAX_BYTES 4608 /* a path of PATH_MAX and the numbers before it */
#define MAPS_AT_FIRST 64
#define PATH_USUAL 128 /* bytes; the mean is less */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

/* A file that code is mapped from. */
struct code_file {
	uint64_t device, inode;       /* inode 0: the vdso */
	struct unwind_lookup *lookup; /* NULL: it has a table */
	struct unwind_table *table;   /* NULL, too: frame pointers only */
	bool is_owned;                /* else it moved to a newer struct unwind_self */
};

struct unwind_self {
	struct unwind_space space;
	struct unwind_map *maps;        /* [cap], space.count in use */
	struct unwind_self_code *codes; /* [cap], of maps */
	struct code_file *files;        /* [cap] */
	char *text;                     /* [cap * PATH_USUAL], text_len in use: paths */
	uint32_t file_count, cap;
	size_t text_len;
	size_t bytes; /* of this mapping */
};

/* A line of /proc/self/maps. Source: proc(5). */
struct line {
	uint64_t start, end, offset, device, inode;
	bool is_executable, is_writable;
	const char *path; /* "" when there is none */
};

/* Reads lines of any file; longer ones than the room lose their end. */
struct lines {
	int fd;
	char text[LINE_MAX_BYTES];
	size_t len; /* in text */
	size_t at;  /* the next line */
	bool is_broken;
};

static bool next_text(struct lines *l, char **ret)
{
	for (;;) {
		char *line = l->text + l->at, *newline = memchr(line, '\n', l->len - l->at);
		ssize_t n;

		if (newline) {
			*newline = '\0';
			l->at = (size_t)(newline + 1 - l->text);
			*ret = line;
			return true;
		}
		memmove(l->text, line, l->len - l->at);
		l->len -= l->at;
		l->at = 0;
		if (l->len == sizeof l->text)
			l->len -= 256; /* only paths are that long; the rest of this one is lost */
		n = read(l->fd, l->text + l->len, sizeof l->text - l->len);
		if (n < 0 && errno == EINTR)
			continue;
		l->is_broken = n < 0;
		if (n <= 0)
			return false;
		l->len += (size_t)n;
	}
}

/* A hexadecimal or decimal number, and the character behind it. */
static uint64_t take_number(char **at, unsigned base)
{
	uint64_t value = 0;

	for (; **at; ++*at) {
		int digit = number_hex_digit(**at);

		if (digit < 0 || (unsigned)digit >= base)
			break;
		value = value * base + (unsigned)digit;
	}
	if (**at)
		++*at;
	return value;
}

static bool next_line(struct lines *l, struct line *ret)
{
	char *at;

	if (!next_text(l, &at))
		return false;
	ret->start = take_number(&at, 16);
	ret->end = take_number(&at, 16);
	ret->is_executable = strlen(at) > 4 && at[2] == 'x';
	ret->is_writable = strlen(at) > 4 && at[1] == 'w';
	at += strlen(at) > 4 ? 5 : 0;
	ret->offset = take_number(&at, 16);
	ret->device = take_number(&at, 16) << 32;
	ret->device |= take_number(&at, 16);
	ret->inode = take_number(&at, 10);
	ret->path = at + strspn(at, " ");
	return true;
}

static int open_maps(struct lines *l)
{
	l->fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	l->len = l->at = 0;
	l->is_broken = l->fd < 0;
	return l->fd < 0 ? -errno : 0;
}

/* The mapping that address lies in; all zero: none. */
static struct line find_line(uint64_t address)
{
	struct line line, found = { 0 };
	struct lines lines;

	if (open_maps(&lines) < 0)
		return found;
	while (!found.end && next_line(&lines, &line))
		if (address - line.start < line.end - line.start)
			found = line;
	close(lines.fd);
	found.path = NULL; /* it was in lines */
	return found;
}

uint64_t unwind_self_stack_end(void)
{
	return find_line((uintptr_t)__builtin_frame_address(0)).end;
}

bool unwind_self_is_writable(uint64_t address)
{
	return find_line(address).is_writable;
}

static struct unwind_self *new_self(uint32_t cap)
{
	size_t bytes = sizeof(struct unwind_self) +
		       cap * (sizeof(struct unwind_map) + sizeof(struct unwind_self_code) +
			      sizeof(struct code_file) + PATH_USUAL);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	/* cppcheck-suppress invalidFunctionArg */
	struct unwind_self *self = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (self == MAP_FAILED)
		return NULL;
	self->maps = (void *)(self + 1);
	self->codes = (void *)(self->maps + cap);
	self->files = (void *)(self->codes + cap);
	self->text = (void *)(self->files + cap);
	self->cap = cap;
	self->bytes = bytes;
	self->space.maps = self->maps;
	self->space.machine = OWN_MACHINE;
	self->space.version = unwind_space_version();
	return self;
}

void unwind_self_free(struct unwind_self *self)
{
	if (!self)
		return;
	for (uint32_t i = 0; i < self->file_count; i++)
		if (self->files[i].is_owned) {
			unwind_table_free(self->files[i].table);
			unwind_lookup_free(self->files[i].lookup);
		}
	munmap(self, self->bytes);
}

const struct unwind_space *unwind_self_space(const struct unwind_self *self)
{
	return &self->space;
}

const struct unwind_self_code *unwind_self_code(const struct unwind_self *self, uint32_t index)
{
	return &self->codes[index];
}

/* The file of a line, which may have been replaced under its path since. *ret_fd: -1: none. */
static int open_code(const struct line *line, struct elf_image *ret, int *ret_fd, struct err *e)
{
	const char *name = line->path;
	char path[64];
	struct stat st;
	int fd, rc;

	*ret_fd = -1;
	if (strcmp(line->path, "[vdso]") == 0)
		return elf_image_init(ret, (const void *)(uintptr_t)line->start,
				      line->end - line->start, e);
	if (line->path[0] != '/')
		return -ENOENT;
	if (stat(line->path, &st) < 0 || st.st_ino != line->inode) {
		snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx",
			 (unsigned long)line->start, (unsigned long)line->end);
		name = path;
	}
	fd = file_open_regular(name, 0, e);
	if (fd < 0)
		return fd;
	rc = elf_image_open_fd(ret, fd, name, e);
	if (rc < 0)
		close(fd);
	else
		*ret_fd = fd;
	return rc;
}

static struct code_file *find_file(struct unwind_self *self, const struct line *line)
{
	for (uint32_t i = 0; self && i < self->file_count; i++)
		if (self->files[i].inode == line->inode && self->files[i].device == line->device)
			return &self->files[i];
	return NULL;
}

static bool make_rules(struct code_file *file, const struct elf_image *image, int fd)
{
	struct err ignored;

	if (fd >= 0 && unwind_lookup_new(image, fd, &file->lookup) == 0)
		return true;
	file->lookup = NULL;
	return unwind_table_new(image, NULL, &file->table, &ignored) == 0;
}

/* The file with its rules: known already, of the older self, or new. image NULL: no new one.
 * NULL: none. */
static const struct code_file *get_file(struct unwind_self *self, struct unwind_self *old,
					const struct line *line, const struct elf_image *image,
					int fd)
{
	struct code_file *file = find_file(self, line), *older = find_file(old, line);
	struct code_file made = { .device = line->device, .inode = line->inode, .is_owned = true };

	if (file)
		return file;
	if (older && older->is_owned) {
		made.lookup = older->lookup;
		made.table = older->table;
		older->is_owned = false;
	} else if (!image || !make_rules(&made, image, fd)) {
		return NULL;
	}
	self->files[self->file_count] = made;
	return &self->files[self->file_count++];
}

static void take_rules(struct unwind_map *map, const struct code_file *file)
{
	map->table = file ? file->table : NULL;
	map->lookup = file ? file->lookup : NULL;
}

/* The same mapping of the same file as before: its file need not be opened. */
static bool copy_map(struct unwind_self *self, struct unwind_self *old, const struct line *line,
		     struct unwind_map *map, struct unwind_self_code *code)
{
	for (uint32_t i = 0; old && i < old->space.count; i++) {
		const struct unwind_self_code *known = &old->codes[i];

		if (old->maps[i].start != line->start || old->maps[i].end != line->end ||
		    known->offset != line->offset || known->inode != line->inode ||
		    known->device != line->device || strcmp(known->path, line->path) != 0)
			continue;
		if (known->has_bias)
			take_rules(map, get_file(self, old, line, NULL, -1));
		map->bias = old->maps[i].bias;
		code->has_bias = known->has_bias;
		code->build_id_len = known->build_id_len;
		memcpy(code->build_id, known->build_id, sizeof code->build_id);
		return true;
	}
	return false;
}

static void take_build_id(const struct elf_image *image, struct unwind_self_code *code)
{
	char hex[ELF_BUILD_ID_HEX];

	if (!elf_build_id(image, hex))
		return;
	for (const char *at = hex; at[0] && at[1]; at += 2)
		code->build_id[code->build_id_len++] =
			(unsigned char)(number_hex_digit(at[0]) << 4 | number_hex_digit(at[1]));
}

/* false: there is no room for its path. */
static bool add_map(struct unwind_self *self, struct unwind_self *old, const struct line *line)
{
	struct unwind_map *map = &self->maps[self->space.count];
	struct unwind_self_code *code = &self->codes[self->space.count];
	size_t len = strlen(line->path) + 1;
	struct elf_image image;
	struct err ignored;
	int fd;

	if (len > self->cap * (size_t)PATH_USUAL - self->text_len)
		return false;
	self->space.count++;
	*map = (struct unwind_map){ .start = line->start, .end = line->end };
	*code = (struct unwind_self_code){ .offset = line->offset,
					   .device = line->device,
					   .inode = line->inode,
					   .path = self->text + self->text_len };
	memcpy(self->text + self->text_len, line->path, len);
	self->text_len += len;
	if (copy_map(self, old, line, map, code) || open_code(line, &image, &fd, &ignored) < 0)
		return true;
	code->has_bias = elf_load_bias(&image, line->start, line->end - line->start, line->offset,
				       &map->bias);
	if (code->has_bias)
		take_rules(map, get_file(self, old, line, &image, fd));
	take_build_id(&image, code);
	elf_image_close(&image);
	if (fd >= 0)
		close(fd);
	return true;
}

/* -EAGAIN: there are more mappings than room for them. */
static int fill(struct unwind_self *self, struct unwind_self *old)
{
	struct lines lines;
	struct line line;
	int rc = open_maps(&lines);

	if (rc < 0)
		return rc;
	while (rc == 0 && next_line(&lines, &line)) {
		if (!line.is_executable)
			continue;
		if (self->space.count == self->cap || !add_map(self, old, &line))
			rc = -EAGAIN;
	}
	if (lines.is_broken)
		rc = -EIO;
	close(lines.fd);
	return rc;
}

/* What a failed attempt took over goes back. */
static void give_back(struct unwind_self *self, struct unwind_self *old)
{
	for (uint32_t i = 0; old && i < old->file_count; i++)
		for (uint32_t k = 0; k < self->file_count; k++)
			if (self->files[k].table == old->files[i].table &&
			    self->files[k].lookup == old->files[i].lookup) {
				self->files[k].is_owned = false;
				old->files[i].is_owned = true;
			}
}

int unwind_self_new(struct unwind_self *old, struct unwind_self **ret, struct err *e)
{
	if (!unwind_arch_of(OWN_MACHINE))
		return err_set(e, -ENOTSUP, "stacks of this machine cannot be unwound");
	for (uint32_t cap = MAPS_AT_FIRST;; cap *= 4) {
		struct unwind_self *self = new_self(cap);
		int rc;

		if (!self)
			return err_nomem(e);
		rc = fill(self, old);
		if (rc == 0) {
			*ret = self;
			return 0;
		}
		give_back(self, old);
		unwind_self_free(self);
		if (rc != -EAGAIN)
			return err_set(e, rc, "/proc/self/maps: cannot be read");
	}
}
