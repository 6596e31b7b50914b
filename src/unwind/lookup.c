/* SPDX-License-Identifier: MIT */
#include "unwind/lookup.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "unwind/cfi.h"

#define RULES_MAX 4096             /* different ones; a file has some hundreds */
#define CIE_BYTES_MAX (1U << 20)   /* that one search may read */
#define USUAL_ENCODINGS 0x3b031b01 /* version 1; pcrel sdata4, udata4, datarel sdata4 */

enum {
	RULE_NONE,
	RULE_UNKNOWN,
	RULE_FIRST,
};

struct unwind_lookup {
	void *pages; /* [pages_len) of the file */
	size_t pages_len;
	const unsigned char *rows; /* [row_count * 8]: start and FDE, from header_vaddr on */
	uint32_t row_count;
	uint64_t header_vaddr;
	struct cfi_section section;
	uint32_t rule_count;
	struct unwind_rule rules[RULES_MAX];
	uint16_t slots[2 * RULES_MAX]; /* numbers of rules, open addressing; 0: free */
};

static int32_t read_i32(const unsigned char *at)
{
	int32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* The segment of the file that has an address. */
static bool find_load(const struct elf_image *image, uint64_t vaddr, struct elf_segment *ret)
{
	for (uint32_t i = 0; i < image->phnum; i++) {
		*ret = elf_get_segment(image, i);
		if (ret->type == PT_LOAD && vaddr - ret->vaddr < ret->file_size)
			return true;
	}
	return false;
}

static int map_segment(struct unwind_lookup *l, const struct elf_segment *load, int fd,
		       const unsigned char **ret)
{
	uint64_t before = load->offset % (uint64_t)sysconf(_SC_PAGESIZE), end;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (__builtin_add_overflow(load->offset, load->file_size, &end) ||
	    end > (uint64_t)st.st_size)
		return -ENOENT;
	l->pages_len = load->file_size + before;
	l->pages = mmap(NULL, l->pages_len, PROT_READ, MAP_PRIVATE, fd,
			(off_t)(load->offset - before));
	if (l->pages == MAP_FAILED)
		return -errno;
	*ret = (const unsigned char *)l->pages + before;
	return 0;
}

/* bytes: [load->file_size) of the segment. */
static int parse_header(struct unwind_lookup *l, const struct elf_segment *header,
			const struct elf_segment *load, const unsigned char *bytes,
			const struct unwind_arch *arch)
{
	uint64_t at = header->vaddr - load->vaddr, eh_frame;
	struct cursor c;

	if (header->file_size > load->file_size - at)
		return -ENOENT;
	c = cursor_make(bytes + at, header->file_size);
	if (cursor_u32(&c) != USUAL_ENCODINGS)
		return -ENOENT;
	eh_frame = header->vaddr + 4 + (uint64_t)(int64_t)(int32_t)cursor_u32(&c) - load->vaddr;
	l->row_count = cursor_u32(&c);
	if (c.bad || l->row_count == 0 || l->row_count > cursor_left(&c) / 8 ||
	    eh_frame >= load->file_size)
		return -ENOENT;
	l->rows = c.at;
	l->header_vaddr = header->vaddr;
	cfi_section_init(&l->section, bytes + eh_frame, load->file_size - eh_frame,
			 load->vaddr + eh_frame, true, arch);
	l->section.is_open_ended = true;
	return 0;
}

int unwind_lookup_new(const struct elf_image *image, int fd, struct unwind_lookup **ret)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	const struct unwind_arch *arch = unwind_arch_of(image->machine);
	struct elf_segment header, load;
	const unsigned char *bytes = NULL;
	struct unwind_lookup *l;
	int rc;

	if (!arch || image->is_64 != (arch->word == 8) ||
	    !elf_find_segment(image, PT_GNU_EH_FRAME, &header) ||
	    !find_load(image, header.vaddr, &load))
		return -ENOENT;
	/* cppcheck-suppress invalidFunctionArg */
	l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (l == MAP_FAILED)
		return -ENOMEM;
	rc = map_segment(l, &load, fd, &bytes);
	if (rc < 0) {
		munmap(l, sizeof *l);
		return rc;
	}
	rc = parse_header(l, &header, &load, bytes, arch);
	if (rc < 0) {
		unwind_lookup_free(l);
		return rc;
	}
	l->rules[RULE_NONE] = (struct unwind_rule){ .cfa = UNWIND_CFA_NONE };
	l->rules[RULE_UNKNOWN] = (struct unwind_rule){ .cfa = UNWIND_CFA_UNKNOWN };
	l->rule_count = RULE_FIRST;
	*ret = l;
	return 0;
}

void unwind_lookup_free(struct unwind_lookup *l)
{
	if (!l)
		return;
	munmap(l->pages, l->pages_len);
	munmap(l, sizeof *l);
}

/* The number of an equal rule. When there are too many, it is unknown. */
static uint32_t intern_rule(struct unwind_lookup *l, const struct unwind_rule *rule)
{
	uint64_t words[3], hash = 0;

	static_assert(sizeof words == sizeof *rule, "a rule has 24 bytes and no padding");
	memcpy(words, rule, sizeof words);
	for (int i = 0; i < 3; i++)
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
	for (hash ^= hash >> 32;; hash++) {
		uint16_t *slot = &l->slots[hash % (2 * RULES_MAX)];

		if (*slot && memcmp(&l->rules[*slot], rule, sizeof *rule) == 0)
			return *slot;
		if (*slot)
			continue;
		if (l->rule_count == RULES_MAX)
			return RULE_UNKNOWN;
		l->rules[l->rule_count] = *rule;
		*slot = (uint16_t)l->rule_count;
		return l->rule_count++;
	}
}

/* The offset in the section of the last FDE that starts at or before vaddr. false: none. */
static bool find_fde(const struct unwind_lookup *l, uint64_t vaddr, uint64_t *ret)
{
	int64_t wanted = (int64_t)(vaddr - l->header_vaddr);
	uint32_t low = 0, high = l->row_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (read_i32(l->rows + 8 * (size_t)middle) <= wanted)
			low = middle;
		else
			high = middle;
	}
	if (read_i32(l->rows + 8 * (size_t)low) > wanted)
		return false;
	*ret = l->header_vaddr + (uint64_t)(int64_t)read_i32(l->rows + 8 * (size_t)low + 4) -
	       l->section.vaddr;
	return true;
}

static bool find_rule(struct unwind_lookup *l, uint64_t vaddr, struct unwind_rule *ret)
{
	struct cfi_fde fde;
	struct cfi_run run;
	uint64_t at, first;

	if (!find_fde(l, vaddr, &at))
		return false;
	first = at;
	l->section.work = CIE_BYTES_MAX;
	if (!cfi_next_fde(&l->section, &at, &fde) || fde.at != first || vaddr < fde.start ||
	    vaddr >= fde.end)
		return false;
	cfi_run_init(&run, &l->section, &fde);
	*ret = cfi_run_at(&run, vaddr);
	return true;
}

const struct unwind_rule *unwind_lookup_find(struct unwind_lookup *l, uint64_t vaddr)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_UNKNOWN };

	return &l->rules[find_rule(l, vaddr, &rule) ? intern_rule(l, &rule) : RULE_NONE];
}
