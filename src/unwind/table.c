/* SPDX-License-Identifier: MIT */
#include "unwind/table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind/cfi.h"

#define RULES_MAX 65536 /* numbers of 16 bits */
#define ROWS_A_BUCKET 16
#define SCANNED_MAX (UINT64_C(16) << 20) /* bytes of code that are read for signal restorers */
#define PROBES_MAX 256                   /* for a rule; more only with rules forged to one hash */

/* Numbers of rules that every table has. */
enum {
	RULE_NONE,
	RULE_UNKNOWN,
	RULE_FIRST,
};

struct unwind_table {
	uint64_t base;                   /* vaddr of offset 0 */
	uint64_t span;                   /* code lies at offsets [0..span) */
	const uint32_t *pcs;             /* [row_count], offsets, growing; the first is 0 */
	const uint16_t *rule_ids;        /* [row_count] */
	const struct unwind_rule *rules; /* [rule_count] */
	const uint32_t *buckets;         /* [(span >> shift) + 2]: the first row at or behind */
	uint32_t row_count, rule_count, functions, unknown;
	uint32_t shift;
	size_t bytes; /* of this mapping */
};

/* The code that an FDE describes, and where the FDE is. */
struct entry {
	uint32_t start, end; /* offsets from base */
	uint32_t at;         /* offset in its section */
	uint32_t source;     /* index of the section; the first one wins */
};

struct builder {
	const struct elf_image *image;
	const struct unwind_arch *arch;
	uint64_t base, span;
	struct cfi_section *sections; /* [section_count] */
	uint32_t section_count;

	unsigned char *memory; /* one mapping for all below; pages that are not touched are free */
	size_t memory_size;
	struct entry *entries, *sorted; /* [entry_cap] each */
	size_t entry_count, entry_cap;
	uint32_t *pcs;      /* [row_cap] */
	uint16_t *rule_ids; /* [row_cap] */
	size_t row_count, row_cap;
	struct unwind_rule *rules; /* [RULES_MAX] */
	uint16_t *rule_slots;      /* [2 * RULES_MAX] open addressing, 0: free */
	uint32_t rule_count, functions, unknown;
	uint64_t scan_left;      /* bytes of gaps that may still be searched */
	struct elf_segment code; /* where the last gap was */
};

static uint64_t hash_rule(const struct unwind_rule *rule)
{
	uint64_t words[3], hash = 0;

	static_assert(sizeof words == sizeof *rule, "a rule has 24 bytes and no padding");
	memcpy(words, rule, sizeof words);
	for (int i = 0; i < 3; i++)
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return hash >> 32 ^ hash;
}

/* The number of an equal rule. When there are too many, it is unknown. */
static uint16_t intern_rule(struct builder *b, const struct unwind_rule *rule)
{
	size_t first = hash_rule(rule);

	for (size_t i = 0; i < PROBES_MAX; i++) {
		uint16_t *slot = &b->rule_slots[(first + i) % (2 * RULES_MAX)];

		if (*slot && memcmp(&b->rules[*slot], rule, sizeof *rule) == 0)
			return *slot;
		if (*slot)
			continue;
		if (b->rule_count == RULES_MAX)
			return RULE_UNKNOWN;
		b->rules[b->rule_count] = *rule;
		*slot = (uint16_t)b->rule_count;
		return (uint16_t)b->rule_count++;
	}
	return RULE_UNKNOWN;
}

/* The rule holds from offset pc on, in place of earlier rows. */
static void put_row(struct builder *b, uint32_t pc, uint16_t rule_id)
{
	while (b->row_count && b->pcs[b->row_count - 1] >= pc)
		b->row_count--;
	if (b->row_count && b->rule_ids[b->row_count - 1] == rule_id)
		return;
	if (b->row_count == b->row_cap)
		return;
	b->pcs[b->row_count] = pc;
	b->rule_ids[b->row_count++] = rule_id;
}

/* What a signal handler returns to: the number of a system call, then the call. */
struct restorer {
	uint16_t machine;
	uint8_t number_len, call_len;
	unsigned char code[9];
};

static const struct restorer restorers[] = {
	/* mov $15, %rax; syscall */
	{ EM_X86_64, 7, 2, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
	/* mov $15, %eax; syscall */
	{ EM_X86_64, 5, 2, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
	/* mov x8, #139; svc #0 */
	{ EM_AARCH64, 4, 4, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 } },
};

/* The restorer that ends with the system call at code[at]; NULL: none. */
static const struct restorer *find_restorer(uint16_t machine, const unsigned char *code, size_t at)
{
	for (size_t i = 0; i < ARRAY_LEN(restorers); i++) {
		const struct restorer *r = &restorers[i];

		if (r->machine == machine && at >= r->number_len &&
		    memcmp(code + at - r->number_len, r->code, r->number_len) == 0)
			return r;
	}
	return NULL;
}

/*
 * Rows for the restorers in a gap that starts at offset start. A walk comes with the return
 * address less one, so the byte before counts too; and the byte behind, because a thread in
 * the system call stands there.
 */
static void put_restorers(struct builder *b, uint32_t start, const unsigned char *code, size_t len)
{
	static const struct unwind_rule signal = { .cfa = UNWIND_CFA_SIGNAL, .is_signal = 1 };
	const struct restorer *r = b->arch->machine == EM_X86_64 ? &restorers[0] : &restorers[2];
	const unsigned char *call = r->code + r->number_len, *from = code, *hit;

	if (b->arch->machine == EM_386)
		return; /* the vdso has them, and describes them */
	while ((hit = memmem(from, (size_t)(code + len - from), call, r->call_len))) {
		const struct restorer *found =
			find_restorer(r->machine, code, (size_t)(hit - code));
		uint32_t at = start + (uint32_t)(hit - code);

		from = hit + r->call_len;
		if (!found)
			continue;
		at -= found->number_len;
		put_row(b, at ? at - 1 : at, intern_rule(b, &signal));
		put_row(b, start + (uint32_t)(from - code) + 1, RULE_NONE);
	}
}

/* The bytes of code between two offsets; NULL: not in the file, or too much was asked for. */
static const unsigned char *take_code(struct builder *b, uint32_t start, uint32_t end)
{
	uint64_t vaddr = b->base + start, len = end - start;

	if (len > b->scan_left)
		return NULL;
	for (uint32_t i = 0; i < b->image->phnum && vaddr - b->code.vaddr >= b->code.file_size; i++)
		b->code = elf_get_segment(b->image, i);
	if (vaddr - b->code.vaddr >= b->code.file_size)
		return NULL;
	b->scan_left -= len;
	return elf_bytes(b->image, b->code.offset + (vaddr - b->code.vaddr), len);
}

/* Code between start and end that no FDE describes. */
static void put_gap(struct builder *b, uint32_t start, uint32_t end)
{
	static const struct unwind_rule outermost = { .cfa = UNWIND_CFA_END };
	uint64_t entry = b->image->entry - b->base;
	const unsigned char *code;

	put_row(b, start, RULE_NONE);
	code = take_code(b, start, end);
	if (code)
		put_restorers(b, start, code, end - start);
	/* Where the program starts, when written in assembly: a few instructions and a call. */
	if (b->image->entry && entry >= start && entry < end && b->row_count &&
	    b->pcs[b->row_count - 1] <= entry) {
		put_row(b, (uint32_t)entry, intern_rule(b, &outermost));
		if (end - entry > 48)
			put_row(b, (uint32_t)entry + 48, RULE_NONE);
	}
}

static void put_function(struct builder *b, const struct entry *entry, uint32_t start)
{
	struct cfi_section *section = &b->sections[entry->source];
	struct unwind_rule rule;
	struct cfi_fde fde;
	struct cfi_run run;
	uint64_t at = entry->at, pc;

	if (!cfi_next_fde(section, &at, &fde) || fde.at != entry->at) {
		put_row(b, start, RULE_UNKNOWN);
		return;
	}
	cfi_run_init(&run, section, &fde);
	b->functions++;
	while (cfi_run_row(&run, &pc, &rule)) {
		uint64_t offset = pc - b->base;

		if (offset >= entry->end)
			break;
		put_row(b, offset < start ? start : (uint32_t)offset, intern_rule(b, &rule));
	}
}

/* Offset up to which the rows of entry i hold. A restorer ends in a system call, where a thread
 * stands at the byte behind it. */
static uint32_t covered_by(const struct builder *b, size_t i)
{
	const struct unwind_rule *last = &b->rules[b->rule_ids[b->row_count - 1]];
	uint32_t end = b->entries[i].end;
	/* i386: that of the vdso, which describes it as any other frame */
	bool is_restorer =
		last->cfa == UNWIND_CFA_SIGNAL || (last->is_signal && b->arch->machine == EM_386);
	bool is_followed = i + 1 < b->entry_count && b->entries[i + 1].start <= end;

	return is_restorer && !is_followed && end < b->span ? end + 1 : end;
}

static void put_functions(struct builder *b)
{
	uint32_t covered = 0; /* offset up to which there are rows */

	for (size_t i = 0; i < b->entry_count; i++) {
		const struct entry *entry = &b->entries[i];
		uint32_t start = entry->start > covered ? entry->start : covered;

		if (entry->end <= covered)
			continue;
		if (start > covered)
			put_gap(b, covered, start);
		put_function(b, entry, start);
		covered = covered_by(b, i);
	}
	if (covered < b->span)
		put_gap(b, covered, (uint32_t)b->span);
}

static void collect_entries(struct builder *b, uint32_t source)
{
	struct cfi_section *section = &b->sections[source];
	struct cfi_fde fde;
	uint64_t at = 0;

	while (b->entry_count < b->entry_cap && cfi_next_fde(section, &at, &fde)) {
		uint64_t start = fde.start - b->base, end = fde.end - b->base;

		/* What the linker dropped is described at address 0, or as written for it. */
		if (start >= b->span || end > b->span || end <= start)
			continue;
		b->entries[b->entry_count++] = (struct entry){ .start = (uint32_t)start,
							       .end = (uint32_t)end,
							       .at = (uint32_t)fde.at,
							       .source = source };
	}
}

/* By start; what was collected first stays first. Radix 2^11, because a compiler's hot and
 * cold parts come in no order. */
static void sort_entries(struct builder *b)
{
	bool is_sorted = true;

	for (size_t i = 1; i < b->entry_count && is_sorted; i++)
		is_sorted = b->entries[i - 1].start <= b->entries[i].start;
	for (unsigned shift = 0; shift < 32 && !is_sorted; shift += 11) {
		struct entry *swap = b->entries;
		uint32_t places[2049] = { 0 };

		for (size_t i = 0; i < b->entry_count; i++)
			places[(b->entries[i].start >> shift & 2047) + 1]++;
		for (size_t i = 1; i < ARRAY_LEN(places); i++)
			places[i] += places[i - 1];
		for (size_t i = 0; i < b->entry_count; i++)
			b->sorted[places[b->entries[i].start >> shift & 2047]++] = b->entries[i];
		b->entries = b->sorted;
		b->sorted = swap;
	}
}

/* The addresses of all executable segments: [base..base+span). */
static int find_code(struct builder *b, struct err *e)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < b->image->phnum; i++) {
		struct elf_segment s = elf_get_segment(b->image, i);
		uint64_t end;

		if (s.type != PT_LOAD || !s.is_executable ||
		    __builtin_add_overflow(s.vaddr, s.file_size, &end) || end == s.vaddr)
			continue;
		low = s.vaddr < low ? s.vaddr : low;
		high = end > high ? end : high;
	}
	if (low >= high)
		return err_set(e, -ENOEXEC, "no executable segment");
	b->base = low;
	b->span = high - low < UINT32_MAX ? high - low : UINT32_MAX;
	return 0;
}

static void *map_pages(size_t size)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	/* cppcheck-suppress invalidFunctionArg */
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* Room for the most rows that sections of this size can hold: an FDE takes 10 bytes at least, a
 * row of its program 1. */
static int make_room(struct builder *b, struct err *e)
{
	size_t entries, rows, total = 0;
	unsigned char *at;

	for (uint32_t i = 0; i < b->section_count; i++)
		total += b->sections[i].len;
	b->entry_cap = total / 10 + 1;
	b->row_cap = total + 1024;
	entries = b->entry_cap * sizeof(struct entry);
	rows = (b->row_cap + 7) / 8 * 8;
	b->memory_size = 2 * entries + rows * (sizeof *b->pcs + sizeof *b->rule_ids) +
			 RULES_MAX * sizeof *b->rules + 2 * RULES_MAX * sizeof *b->rule_slots;
	at = map_pages(b->memory_size);
	if (!at)
		return err_nomem(e);
	b->memory = at;
	b->entries = (void *)at;
	b->sorted = (void *)(at += entries);
	b->rules = (void *)(at += entries);
	b->pcs = (void *)(at += RULES_MAX * sizeof *b->rules);
	b->rule_ids = (void *)(at += rows * sizeof *b->pcs);
	b->rule_slots = (void *)(at + rows * sizeof *b->rule_ids);
	b->rules[RULE_NONE] = (struct unwind_rule){ .cfa = UNWIND_CFA_NONE };
	b->rules[RULE_UNKNOWN] = (struct unwind_rule){ .cfa = UNWIND_CFA_UNKNOWN };
	b->rule_count = RULE_FIRST;
	b->rule_slots[hash_rule(&b->rules[RULE_UNKNOWN]) & (2 * RULES_MAX - 1)] = RULE_UNKNOWN;
	return 0;
}

static void fill_buckets(const struct unwind_table *t, uint32_t *buckets)
{
	size_t count = (t->span >> t->shift) + 2;
	uint32_t row = 0;

	for (size_t i = 0; i < count; i++) {
		while (row < t->row_count && t->pcs[row] < (uint64_t)i << t->shift)
			row++;
		buckets[i] = row;
	}
}

/* A copy at *at, which moves behind it. */
static const void *pack_array(unsigned char **at, const void *array, size_t size)
{
	const void *packed = memcpy(*at, array, size);

	*at += (size + 7) / 8 * 8;
	return packed;
}

/* Everything in one mapping of just the size. */
static struct unwind_table *pack(const struct builder *b)
{
	struct unwind_table t = { .base = b->base,
				  .span = b->span,
				  .row_count = (uint32_t)b->row_count,
				  .rule_count = b->rule_count,
				  .functions = b->functions };
	size_t rules = b->rule_count * sizeof *b->rules, pcs = b->row_count * sizeof *b->pcs;
	size_t ids = b->row_count * sizeof *b->rule_ids, buckets;
	struct unwind_table *packed;
	unsigned char *at;

	while (t.shift < 31 && (t.span >> t.shift) * ROWS_A_BUCKET > b->row_count)
		t.shift++;
	buckets = ((t.span >> t.shift) + 2) * sizeof *t.buckets;
	t.bytes = sizeof t + rules + pcs + ids + buckets + 3 * 7;
	packed = map_pages(t.bytes);
	if (!packed)
		return NULL;
	at = (unsigned char *)(packed + 1);
	t.rules = pack_array(&at, b->rules, rules);
	t.pcs = pack_array(&at, b->pcs, pcs);
	t.rule_ids = pack_array(&at, b->rule_ids, ids);
	t.buckets = (void *)at;
	fill_buckets(&t, (void *)at);
	for (size_t i = 0; i < b->row_count; i++)
		t.unknown += b->rules[b->rule_ids[i]].cfa == UNWIND_CFA_UNKNOWN;
	*packed = t;
	return packed;
}

static void open_sections(struct builder *b, const struct elf_image *debug)
{
	struct cfi_section *s = b->sections;

	if (cfi_section_open_eh(s, b->image))
		s++;
	if (cfi_section_open_debug(s, b->image) || (debug && cfi_section_open_debug(s, debug)))
		s++;
	b->section_count = (uint32_t)(s - b->sections);
	for (s = b->sections; s < b->sections + b->section_count; s++)
		if (s->len > UINT32_MAX)
			s->len = UINT32_MAX;
}

static int build(struct builder *b, struct unwind_table **ret, struct err *e)
{
	int rc = make_room(b, e);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < b->section_count; i++)
		collect_entries(b, i);
	sort_entries(b);
	put_functions(b);
	*ret = pack(b);
	munmap(b->memory, b->memory_size);
	return *ret ? 0 : err_nomem(e);
}

int unwind_table_new(const struct elf_image *image, const struct elf_image *debug,
		     struct unwind_table **ret, struct err *e)
{
	struct cfi_section sections[2];
	struct builder b = { .image = image,
			     .arch = unwind_arch_of(image->machine),
			     .sections = sections };
	struct elf_segment interpreter;
	int rc;

	if (!b.arch || image->is_64 != (b.arch->word == 8))
		return err_set(e, -ENOTSUP, "code of machine %u, %d bit, cannot be unwound",
			       image->machine, image->is_64 ? 64 : 32);
	rc = find_code(&b, e);
	if (rc < 0)
		return rc;
	/* Signal handlers return to code of the C library, so a program that is linked with one as
	 * it starts has none. */
	if (!elf_find_segment(image, PT_INTERP, &interpreter))
		b.scan_left = SCANNED_MAX;
	open_sections(&b, debug);
	rc = build(&b, ret, e);
	for (uint32_t i = 0; i < b.section_count; i++)
		cfi_section_close(&sections[i]);
	return rc;
}

void unwind_table_free(struct unwind_table *t)
{
	if (t)
		munmap(t, t->bytes);
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t vaddr)
{
	uint64_t offset = vaddr - t->base;
	uint32_t low, high;

	if (offset >= t->span)
		return &t->rules[RULE_NONE];
	/* Rows [low..high) start at or before offset, or in its bucket; low always does. */
	low = t->buckets[offset >> t->shift];
	high = t->buckets[(offset >> t->shift) + 1];
	low -= low > 0;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->pcs[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return &t->rules[t->rule_ids[low]];
}

bool unwind_table_describes_any(const struct unwind_table *t)
{
	return t->functions > 0;
}

struct unwind_table_size unwind_table_measure(const struct unwind_table *t)
{
	return (struct unwind_table_size){ .functions = t->functions,
					   .rows = t->row_count,
					   .rules = t->rule_count,
					   .unknown = t->unknown,
					   .bytes = t->bytes };
}

const struct unwind_rule *unwind_table_row(const struct unwind_table *t, uint32_t index,
					   uint64_t *ret_vaddr)
{
	*ret_vaddr = t->base + t->pcs[index];
	return &t->rules[t->rule_ids[index]];
}
