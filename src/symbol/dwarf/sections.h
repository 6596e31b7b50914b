/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sections: the sections of one file's debugging information, and the description of its
 * units.
 */
#ifndef SYMBOL_DWARF_SECTIONS_H
#define SYMBOL_DWARF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/elf_image.h"
#include "base/map.h"
#include "symbol/elf/decompress.h"

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_ADDR,
	DWARF_LINE,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_STR,
	DWARF_STR_OFFSETS,
	DWARF_SECTION_COUNT,
};

enum dwarf_value_kind {
	VALUE_NONE,
	VALUE_UINT, /* a constant; before DWARF 4 also an offset in a section */
	VALUE_ADDRESS,
	VALUE_ADDRX,     /* index into .debug_addr */
	VALUE_STRING,    /* text itself */
	VALUE_STRP,      /* offset in .debug_str */
	VALUE_LINE_STRP, /* offset in .debug_line_str */
	VALUE_STRX,      /* index into .debug_str_offsets */
	VALUE_ALT_STRP,  /* offset in .debug_str of the supplementary file */
	VALUE_REF,       /* offset in .debug_info of this file */
	VALUE_ALT_REF,   /* offset in .debug_info of the supplementary file */
	VALUE_OFFSET,    /* offset in the section that the attribute is about */
	VALUE_LIST,      /* index of a range list */
	VALUE_OTHER,     /* blocks, signatures: nothing that names code */
};

struct dwarf_value {
	enum dwarf_value_kind kind;
	union {
		uint64_t u;
		const char *text; /* of VALUE_STRING: NUL-terminated; belongs to the file */
	};
};

struct dwarf_files;
struct dwarf_tree;
struct dwarf_package;

struct dwarf_unit {
	struct dwarf *dwarf;           /* whose .debug_info it is in */
	uint64_t offset, end;          /* in .debug_info: of the header, one past the last entry */
	uint64_t root;                 /* of its first entry */
	uint64_t abbrev_offset;        /* in .debug_abbrev */
	uint16_t version;              /* 2 to 5 */
	uint8_t address_size;          /* 4 or 8 */
	uint8_t offset_size;           /* 4 or 8 */
	bool is_flat;                  /* functions lie within functions only in local classes */
	bool has_lines;                /* line_offset holds */
	uint64_t line_offset;          /* in .debug_line */
	uint64_t low_pc;               /* what its range lists count from */
	uint64_t addr_base;            /* in .debug_addr */
	uint64_t rnglists_base;        /* in .debug_rnglists */
	uint64_t str_offsets_base;     /* in .debug_str_offsets */
	uint64_t ranges_base;          /* in .debug_ranges, for the other part of this unit */
	uint64_t split_id;             /* that both parts of a split unit have; 0: none */
	struct dwarf_value split_name; /* of the file that the other part is in */
	struct dwarf_unit *skeleton;   /* of that part: the one it belongs to; NULL: it is whole */
	struct dwarf_value name;       /* of its source file */
	struct dwarf_value comp_dir;   /* what relative file names start from */
	struct dwarf_value root_low, root_high, root_ranges; /* its code */
	struct dwarf_files *files;                           /* read when first needed; owned */
	struct dwarf_tree *tree;                             /* likewise */
};

struct dwarf {
	const struct elf_image *image;
	const char *path; /* of the file; borrowed */
	bool is_dwo;      /* parts of split units: sections are called ".debug_info.dwo" */
	struct dwarf_package *package; /* of such parts; NULL: not looked for so far; owned */
	struct section_bytes sections[DWARF_SECTION_COUNT];
	bool is_loaded[DWARF_SECTION_COUNT];
	struct dwarf_unit *units; /* [unit_count], by offset */
	size_t unit_count;
	struct dwarf *alt;    /* the supplementary file (dwz), or NULL; borrowed */
	uint64_t min_address; /* code below is what the linker dropped */
	uint64_t budget;      /* bytes that may still be read, see dwarf_spend */
	struct map tables;    /* index in abbrevs, by place and sizes of the unit */
	struct buf abbrevs;   /* struct dwarf_abbrevs *; owned */
	bool bad;             /* out of memory, for good */
};

/* Does the file have .debug_info at all? */
bool dwarf_is_in(const struct elf_image *image);

/* All bytes of a section, or nothing. */
struct cursor dwarf_bytes(struct dwarf *d, enum dwarf_section section);
/* From this offset on; bad and empty when it lies outside. */
struct cursor dwarf_bytes_at(struct dwarf *d, enum dwarf_section section, uint64_t offset);

/*
 * Counts reads of bytes that many places may refer to (abbreviations, range lists, line tables,
 * text). false: the budget is spent, because the input is forged to cost time; treat the data as
 * absent.
 */
bool dwarf_spend(struct dwarf *d, uint64_t bytes);

/* The unit that an offset in .debug_info lies in; NULL: none. */
struct dwarf_unit *dwarf_unit_at(struct dwarf *d, uint64_t offset);

/* The unit that knows addresses, ranges and source files of u: its skeleton, or u itself. */
static inline const struct dwarf_unit *dwarf_home(const struct dwarf_unit *u)
{
	return u->skeleton ? u->skeleton : u;
}

#endif
