/* SPDX-License-Identifier: MIT */
#include "symbol/symbol_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/dwarf/scopes.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/decompress.h"
#include "symbol/elf/opener.h"
#include "symbol/elf/pclntab.h"
#include "symbol/elf/plt.h"
#include "symbol/elf/starts.h"
#include "symbol/elf/symtab.h"
#include "symbol/lookup/symbols.h"
#include "symbol/names.h"

#define DEBUG_DIR "/usr/lib/debug"

struct symbol_file {
	char *label;                    /* what functions without name are called after */
	struct elf_image main;          /* the file; or its debug file, when it was deleted */
	bool has_code;                  /* main is the file itself */
	struct elf_image debug;         /* its separate debug file; all zero: none */
	struct elf_image alt;           /* what that one shares with others; all zero: none */
	struct elf_image mini;          /* MiniDebugInfo; all zero: none */
	struct section_bytes mini_data; /* its bytes */
	struct dwarf dwarf, alt_dwarf;  /* no units: none */
	struct buf dwarf_path;          /* of the file that dwarf is in */
	struct starts starts;
	struct names names;
};

/* The vdso as it lies in our memory; it ends behind its section headers. */
static int open_vdso(struct elf_image *ret, struct err *e)
{
	uintptr_t address = getauxval(AT_SYSINFO_EHDR);
	union {
		uintptr_t number;
		const Elf64_Ehdr *header;
	} at = { .number = address };
	size_t len;

	if (!address || at.header->e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(e, -ENOENT, "no vdso");
	len = at.header->e_shoff + (size_t)at.header->e_shnum * at.header->e_shentsize;
	return elf_image_init(ret, at.header, len, e);
}

/* Opens the binary itself; one with another build id than it must have is not it. */
static int open_main(struct symbol_file *f, const struct symbol_file_opts *o, struct err *e)
{
	char id[ELF_BUILD_ID_HEX];
	int rc = o->path ? opener_open_image(o->path, OPENER_ELF, &f->main, e)
			 : open_vdso(&f->main, e);

	if (rc < 0 || !o->build_id || !o->build_id[0])
		return rc;
	if (elf_build_id(&f->main, id) && strcmp(id, o->build_id) == 0)
		return 0;
	elf_image_close(&f->main);
	return err_set(e, -ESTALE, "%s: is not what was recorded (build id %s, not %s)",
		       o->path ? o->path : "vdso", id[0] ? id : "none", o->build_id);
}

static bool has_symtab(const struct elf_image *image)
{
	struct elf_section s;

	return elf_find_section(image, ".symtab", &s) && s.type == SHT_SYMTAB;
}

/* What stands before the name that the process knows the file by: "/proc/12/root". Owned by
 * the caller; NULL: out of memory. */
static char *root_of(const char *path, const char *name)
{
	return strndup(path, text_ends_with(path, name) ? strlen(path) - strlen(name) : 0);
}

static int open_mini(struct symbol_file *f, struct err *e)
{
	struct elf_section s;
	const unsigned char *data;
	struct err why;

	if (!elf_find_section(&f->main, ".gnu_debugdata", &s))
		return 0;
	data = elf_section_bytes(&f->main, &s);
	if (data && decompress_xz(data, s.size, &f->mini_data) < 0)
		return err_nomem(e);
	if (f->mini_data.data &&
	    elf_image_init(&f->mini, f->mini_data.data, f->mini_data.len, &why) < 0)
		log_msg(LOG_DEBUG, "symbol", "%s: MiniDebugInfo: %s", f->label, why.msg);
	return 0;
}

/* The first address of code; the linker dropped the code below. */
static uint64_t lowest_code(const struct elf_image *image)
{
	uint64_t lowest = UINT64_MAX;

	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type == PT_LOAD && s.is_executable && s.vaddr < lowest)
			lowest = s.vaddr;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}

/* image: of the file dwarf_path. */
static int open_dwarf(struct symbol_file *f, const struct elf_image *image,
		      const struct debug_search *search, struct err *e)
{
	uint64_t lowest = lowest_code(&f->main);
	const char *path = f->dwarf_path.data;

	if (buf_error(&f->dwarf_path) < 0 || dwarf_open(&f->dwarf, image, path, lowest) < 0)
		return err_nomem(e);
	if (!debugfile_open_alt(image, path, search, &f->alt))
		return 0;
	if (dwarf_open(&f->alt_dwarf, &f->alt, "", lowest) < 0)
		return err_nomem(e);
	f->dwarf.alt = &f->alt_dwarf;
	return 0;
}

/* main is open: everything else. */
static int open_others(struct symbol_file *f, const struct symbol_file_opts *o,
		       const struct debug_search *search, struct err *e)
{
	bool has_dwarf = dwarf_is_in(&f->main), has_names = has_symtab(&f->main);
	int rc = 0;

	if (f->has_code && starts_open(&f->starts, &f->main) < 0)
		return err_nomem(e);
	if (!has_names || (!has_dwarf && !o->no_dwarf))
		debugfile_open(&f->main, search, &f->debug, &f->dwarf_path);
	if (!has_names && !has_symtab(&f->debug))
		rc = open_mini(f, e);
	if (rc < 0 || o->no_dwarf)
		return rc;
	if (!has_dwarf)
		return dwarf_is_in(&f->debug) ? open_dwarf(f, &f->debug, search, e) : 0;
	if (f->has_code) {
		buf_clear(&f->dwarf_path);
		buf_printf(&f->dwarf_path, "%s%s", search->root, search->path);
	}
	return open_dwarf(f, &f->main, search, e);
}

static int open_all(struct symbol_file *f, const struct symbol_file_opts *o, struct err *e)
{
	const char *name = o->name ? o->name : o->path ? o->path : "[vdso]";
	char *root = root_of(o->path ? o->path : "", name);
	struct debug_search search = { name, root, o->debug_dir ? o->debug_dir : DEBUG_DIR };
	int rc;

	f->label = strdup(path_base(name));
	if (!root || !f->label || names_init(&f->names) < 0) {
		free(root);
		return err_nomem(e);
	}
	rc = open_main(f, o, e);
	f->has_code = rc == 0;
	if (rc < 0 && rc != -ENOMEM && o->build_id &&
	    debugfile_open_id(o->build_id, &search, &f->main, &f->dwarf_path))
		rc = 0;
	if (rc == 0)
		rc = open_others(f, o, &search, e);
	free(root);
	return rc;
}

int symbol_file_open(const struct symbol_file_opts *o, struct symbol_file **ret, struct err *e)
{
	struct symbol_file *f = calloc(1, sizeof *f);
	int rc = f ? open_all(f, o, e) : err_nomem(e);

	if (rc < 0) {
		symbol_file_close(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void symbol_file_close(struct symbol_file *f)
{
	if (!f)
		return;
	starts_fini(&f->starts);
	dwarf_close(&f->dwarf);
	dwarf_close(&f->alt_dwarf);
	elf_image_close(&f->alt);
	elf_image_close(&f->mini);
	section_bytes_fini(&f->mini_data);
	elf_image_close(&f->debug);
	elf_image_close(&f->main);
	buf_fini(&f->dwarf_path);
	names_fini(&f->names);
	free(f->label);
	free(f);
}

bool symbol_file_vaddr(const struct symbol_file *f, uint64_t offset, uint64_t *ret)
{
	return elf_vaddr_of_offset(&f->main, offset, ret);
}

uint16_t symbol_file_machine(const struct symbol_file *f)
{
	return f->main.machine;
}

bool symbol_file_has_code(const struct symbol_file *f)
{
	return f->has_code;
}

int symbol_file_error(const struct symbol_file *f)
{
	const struct elf_image *all[] = { &f->main, &f->debug, &f->alt };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (elf_image_error(all[i]))
			return elf_image_error(all[i]);
	return 0;
}

size_t symbol_file_function_count(const struct symbol_file *f)
{
	return strtab_count(f->names.functions);
}

struct symbol_function symbol_file_function(const struct symbol_file *f, uint32_t id)
{
	struct names_function n = names_get(&f->names, id);

	return (struct symbol_function){
		.name = names_text(&f->names, names_readable(&f->names, n.system_name)),
		.system_name = names_text(&f->names, n.system_name),
		.file = names_text(&f->names, n.file),
		.start_line = n.start_line,
	};
}

/* The best symbol of each address; name NULL: none. */
static int find_symbols(struct symbol_file *f, const uint64_t *addresses, size_t count,
			struct symbol *ret)
{
	const struct plt_tables tables = { { &f->main, &f->debug, &f->mini } };
	struct symbols symbols;
	bool is_full;
	int rc;

	if (symbols_init(&symbols, addresses, count) < 0)
		return -ENOMEM;
	is_full = symtab_offer(&f->main, SHT_SYMTAB, &symbols) ||
		  symtab_offer(&f->debug, SHT_SYMTAB, &symbols);
	if (!is_full) {
		symtab_offer(&f->mini, SHT_SYMTAB, &symbols);
		symtab_offer(&f->main, SHT_DYNSYM, &symbols);
		pclntab_offer(&f->main, &symbols);
	}
	rc = plt_offer(&f->main, &tables, f->names.strings, &symbols);
	if (rc == 0)
		rc = symbols_resolve(&symbols, ret);
	symbols_fini(&symbols);
	return rc;
}

/* The functions that linkers make have sections of their own. */
static const char *name_by_section(const struct symbol_file *f, uint64_t address)
{
	static const struct {
		const char *section, *name;
	} rows[] = { { ".init", "_init" }, { ".fini", "_fini" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct elf_section s;

		if (elf_find_section(&f->main, rows[i].section, &s) && address - s.vaddr < s.size)
			return rows[i].name;
	}
	return NULL;
}

/* "[file+0x1234]", or NAMES_NONE: the start of the function is unknown. */
static uint32_t name_by_start(struct symbol_file *f, uint64_t address)
{
	const char *known = name_by_section(f, address);
	uint64_t start, end;
	struct buf text = { 0 };
	uint32_t id = NAMES_NONE;

	if (known)
		return names_str(&f->names, known, strlen(known));
	if (!starts_find(&f->starts, address, &start, &end))
		return NAMES_NONE;
	buf_printf(&text, "[%s+0x%" PRIx64 "]", f->label, start);
	if (buf_error(&text) < 0)
		f->names.bad = true;
	else
		id = names_str(&f->names, text.data, text.len);
	buf_fini(&text);
	return id;
}

/* What the function at address is called: by a symbol with a size, else as DWARF
 * has it, else by what is nearest. */
static uint32_t function_name(struct symbol_file *f, uint64_t address, const struct symbol *symbol,
			      uint32_t dwarf_name)
{
	if (dwarf_name != STRTAB_NONE && !(symbol->name && symbol->is_sized))
		return dwarf_name;
	if (symbol->name)
		return names_str(&f->names, symbol->name, symbol_name_length(symbol->name));
	return name_by_start(f, address);
}

/* One line of the answer. file: string id or STRTAB_NONE. */
static void add_frame(struct symbol_file *f, struct buf *frames, const struct dwarf_frame *frame)
{
	uint32_t none = names_str(&f->names, "", 0);
	struct names_function function = {
		.system_name = frame->name == STRTAB_NONE ? none : frame->name,
		.file = frame->file == STRTAB_NONE ? none : frame->file,
		.start_line = frame->start_line,
	};
	struct symbol_frame answer = { names_add(&f->names, &function), frame->line };

	buf_put(frames, &answer, sizeof answer);
}

static void answer_one(struct symbol_file *f, uint64_t address, const struct symbol *symbol,
		       const struct dwarf_frame *known, uint32_t known_count, struct buf *frames,
		       struct symbol_answer *ret)
{
	static const struct dwarf_frame nothing = { .name = STRTAB_NONE, .file = STRTAB_NONE };
	struct dwarf_frame last = known_count ? known[known_count - 1] : nothing;

	for (uint32_t i = 0; i + 1 < known_count; i++)
		add_frame(f, frames, &known[i]);
	last.name = function_name(f, address, symbol, last.name);
	if (last.name == STRTAB_NONE && known_count < 2)
		return; /* a line without a function is of no use */
	add_frame(f, frames, &last);
	ret->has_lines |= known_count && known[0].line;
	ret->has_inlines |= known_count > 1;
}

/* Puts what DWARF and the symbols know together. */
static int answer_all(struct symbol_file *f, const uint64_t *addresses, size_t count,
		      const struct symbol *symbols, const struct buf *known,
		      const struct dwarf_span *spans, struct symbol_answer *ret)
{
	const struct dwarf_frame *dwarf_frames = (const void *)known->data;
	struct buf frames = { 0 };

	ret->first = calloc(count + 1, sizeof *ret->first);
	for (size_t i = 0; ret->first && i < count; i++) {
		ret->first[i] = (uint32_t)(frames.len / sizeof *ret->frames);
		answer_one(f, addresses[i], &symbols[i],
			   spans[i].count ? dwarf_frames + spans[i].first : NULL, spans[i].count,
			   &frames, ret);
	}
	ret->frames = (void *)frames.data;
	if (!ret->first || f->names.bad || buf_error(&frames) < 0)
		return -ENOMEM;
	ret->first[count] = (uint32_t)(frames.len / sizeof *ret->frames);
	return 0;
}

int symbol_file_lookup(struct symbol_file *f, const uint64_t *addresses, size_t count,
		       struct symbol_answer *ret, struct err *e)
{
	struct dwarf_span *spans = calloc(count + 1, sizeof *spans);
	struct symbol *symbols = calloc(count + 1, sizeof *symbols);
	struct buf known = { 0 };
	int rc = spans && symbols ? find_symbols(f, addresses, count, symbols) : -ENOMEM;

	*ret = (struct symbol_answer){ 0 };
	if (rc == 0 && f->dwarf.unit_count)
		rc = dwarf_find_scopes(&f->dwarf, addresses, count, f->names.strings, &known,
				       spans);
	if (rc == 0)
		rc = answer_all(f, addresses, count, symbols, &known, spans, ret);
	free(spans);
	free(symbols);
	buf_fini(&known);
	if (rc == 0)
		return 0;
	symbol_answer_fini(ret);
	return err_nomem(e);
}

void symbol_answer_fini(struct symbol_answer *a)
{
	free(a->frames);
	free(a->first);
	*a = (struct symbol_answer){ 0 };
}

bool symbol_file_extent(struct symbol_file *f, uint64_t address, struct symbol_extent *ret)
{
	struct symbol symbol;
	struct symbol_extent extent = { 0 };
	bool is_started = starts_find(&f->starts, address, &extent.start, &extent.end);
	uint32_t name;

	if (find_symbols(f, &address, 1, &symbol) < 0)
		return false;
	name = symbol.name ? names_str(&f->names, symbol.name, symbol_name_length(symbol.name))
			   : NAMES_NONE;
	if (symbol.name && (symbol.is_sized || !is_started)) {
		extent.start = symbol.start;
		extent.end = symbol.end;
	}
	if (name != NAMES_NONE)
		extent.system_name = names_text(&f->names, name);
	*ret = extent;
	return extent.end > extent.start;
}

const unsigned char *symbol_file_code(const struct symbol_file *f, uint64_t address, size_t len)
{
	uint64_t offset;

	if (!f->has_code || !elf_offset_of_vaddr(&f->main, address, &offset))
		return NULL;
	return elf_bytes(&f->main, offset, len);
}
