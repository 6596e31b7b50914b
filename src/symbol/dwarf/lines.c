/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/lines.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/form.h"
#include "symbol/dwarf/names.h"
#include "symbol/lookup/rangemap.h"

#define OPERANDS_MAX 256
#define FORMATS_MAX 256 /* of an entry in the version 5 tables */

struct file {
	const char *name;
	uint64_t folder; /* index into folders */
	uint32_t path;   /* id, STRTAB_NONE before first use */
};

/* The header of a unit's line program. */
struct dwarf_files {
	struct dwarf_unit unit; /* sizes of the line table's own version */
	struct cursor program;
	struct buf files;   /* struct file; number 1 is the first before version 5, else 0 */
	struct buf folders; /* const char *; number 0 is where the compiler ran; may be NULL */
	uint8_t min_length; /* bytes of an instruction */
	int8_t line_base;
	uint8_t line_range, opcode_base;
	uint8_t operands[OPERANDS_MAX]; /* of each standard opcode */
};

void dwarf_files_free(struct dwarf_files *f)
{
	if (!f)
		return;
	buf_fini(&f->files);
	buf_fini(&f->folders);
	free(f);
}

static void add_file(struct dwarf_files *f, const char *name, uint64_t folder)
{
	struct file file = { name, folder, STRTAB_NONE };

	buf_put(&f->files, &file, sizeof file);
}

static void add_folder(struct dwarf_files *f, const char *name)
{
	buf_put(&f->folders, &name, sizeof name);
}

/* Names up to an empty one. */
static void read_old_tables(struct dwarf_files *f, struct cursor *c)
{
	const char *name;
	size_t len;

	add_folder(f, NULL);
	while ((name = cursor_cstr(c, &len)) && len)
		add_folder(f, name);
	while ((name = cursor_cstr(c, &len)) && len) {
		uint64_t folder = cursor_uleb(c);

		cursor_uleb(c); /* time of last change */
		cursor_uleb(c); /* size */
		add_file(f, name, folder);
	}
}

struct entry_format {
	uint64_t content;
	unsigned form;
};

static size_t read_formats(struct cursor *c, struct entry_format *ret)
{
	size_t count = cursor_u8(c);

	for (size_t i = 0; i < count; i++) {
		ret[i].content = cursor_uleb(c);
		ret[i].form = (unsigned)cursor_uleb(c);
	}
	return count;
}

/* Of version 5: a list of what each entry has, then the entries. */
static void read_new_table(struct dwarf_files *f, struct cursor *c, bool is_files)
{
	struct entry_format formats[FORMATS_MAX];
	size_t format_count = read_formats(c, formats);
	uint64_t count = cursor_uleb(c);

	while (count-- && !c->bad && format_count) {
		const unsigned char *begin = c->at;
		const char *name = NULL;
		uint64_t folder = 0;

		for (size_t i = 0; i < format_count; i++) {
			struct dwarf_value v = form_read(&f->unit, c, formats[i].form, 0);

			if (formats[i].content == LNCT_PATH)
				name = value_text(&f->unit, v);
			else if (formats[i].content == LNCT_DIRECTORY_INDEX)
				folder = v.kind == VALUE_UINT ? v.u : 0;
		}
		if (c->at == begin)
			return; /* entries without bytes: there is no end to them */
		if (is_files)
			add_file(f, name, folder);
		else
			add_folder(f, name);
	}
}

/* c: the unit of .debug_line. */
static bool read_program_header(struct dwarf_files *f, struct cursor *c)
{
	uint64_t len;

	f->unit.version = cursor_u16(c);
	if (f->unit.version < 2 || f->unit.version > 5)
		return false;
	if (f->unit.version >= 5) {
		f->unit.address_size = cursor_u8(c);
		cursor_u8(c); /* segment selector size */
	}
	len = form_read_offset(&f->unit, c);
	f->program = *c;
	cursor_skip(&f->program, len);
	f->min_length = cursor_u8(c);
	if (f->unit.version >= 4)
		cursor_u8(c); /* operations per instruction: 1 but on VLIW machines */
	cursor_u8(c);         /* default of is_stmt */
	f->line_base = (int8_t)cursor_u8(c);
	f->line_range = cursor_u8(c);
	f->opcode_base = cursor_u8(c);
	for (unsigned i = 1; i < f->opcode_base; i++)
		f->operands[i] = cursor_u8(c);
	return !c->bad && !f->program.bad && f->line_range && f->opcode_base &&
	       (f->unit.address_size == 4 || f->unit.address_size == 8);
}

static void read_files(struct dwarf_files *f, struct dwarf *d, uint64_t offset)
{
	struct cursor c = dwarf_bytes_at(d, DWARF_LINE, offset);
	uint64_t len = cursor_u32(&c);

	f->unit.offset_size = len == UINT32_MAX ? 8 : 4;
	if (len == UINT32_MAX)
		len = cursor_u64(&c);
	c = cursor_sub(&c, len);
	if (!read_program_header(f, &c)) {
		f->program = (struct cursor){ .bad = true };
		return;
	}
	/* The tables end where the program begins. */
	c.end = f->program.at;
	if (!dwarf_spend(d, cursor_left(&c)))
		return;
	if (f->unit.version >= 5) {
		read_new_table(f, &c, false);
		read_new_table(f, &c, true);
	} else {
		read_old_tables(f, &c);
	}
}

static struct dwarf_files *unit_files(struct dwarf_unit *u)
{
	if (u->skeleton)
		return unit_files(u->skeleton);
	if (!u->files && u->has_lines) {
		u->files = calloc(1, sizeof *u->files);
		if (u->files) {
			u->files->unit = *u;
			read_files(u->files, u->dwarf, u->line_offset);
		}
		if (!u->files || buf_error(&u->files->files) < 0 ||
		    buf_error(&u->files->folders) < 0)
			u->dwarf->bad = true;
	}
	return u->dwarf->bad ? NULL : u->files;
}

/* Appends one name to a path, unless it is absolute: then it replaces it. */
static void append_path(struct buf *path, const char *name)
{
	if (!name || !name[0])
		return;
	if (name[0] == '/')
		buf_clear(path);
	else if (path->len)
		buf_put_byte(path, '/');
	buf_put_str(path, name);
}

/* Takes out "//", "/./" and "/x/../", in place. Returns the new length. */
static size_t clean_path(char *path)
{
	bool is_absolute = path[0] == '/';
	char *out = path + is_absolute, *begin = out;
	const char *at = out;

	while (*at) {
		size_t len = strcspn(at, "/");
		char *last = out > begin ? memrchr(begin, '/', (size_t)(out - begin)) : NULL;
		const char *name = last ? last + 1 : begin;
		bool is_up = len == 2 && memcmp(at, "..", 2) == 0;

		if (is_up && out > begin && strncmp(name, "..", (size_t)(out - name)) != 0) {
			out = last ? last : begin;
		} else if (len && !(len == 1 && *at == '.') && !(is_up && is_absolute)) {
			if (out > begin)
				*out++ = '/';
			memmove(out, at, len);
			out += len;
		}
		at += len + (at[len] == '/');
	}
	*out = '\0';
	return (size_t)(out - path);
}

/* NULL: there is none, or it is unknown. */
static const char *folder_name(const struct dwarf_files *f, uint64_t folder)
{
	const char *const *folders = (const void *)f->folders.data;

	return folder < f->folders.len / sizeof *folders ? folders[folder] : NULL;
}

static uint32_t make_path(const struct dwarf_files *f, const struct file *file,
			  struct strtab *strings)
{
	const char *base = folder_name(f, 0);
	struct buf path = { 0 };
	uint32_t id = STRTAB_NONE;

	append_path(&path, base ? base : value_text(&f->unit, f->unit.comp_dir));
	if (file->folder)
		append_path(&path, folder_name(f, file->folder));
	append_path(&path, file->name);
	if (path.len)
		path.len = clean_path(path.data);
	if (buf_error(&path) < 0 || !dwarf_spend(f->unit.dwarf, path.len))
		f->unit.dwarf->bad |= buf_error(&path) < 0;
	else if (path.len)
		id = strtab_intern(strings, path.data, path.len);
	buf_fini(&path);
	return id;
}

uint32_t dwarf_file_path(struct dwarf_unit *u, uint64_t file, struct strtab *strings)
{
	struct dwarf_files *f = unit_files(u);
	struct file *list;

	if (!f)
		return STRTAB_NONE;
	if (f->unit.version < 5)
		file--; /* 0 is no file */
	list = (void *)f->files.data;
	if (file >= f->files.len / sizeof *list || !list[file].name)
		return STRTAB_NONE;
	if (list[file].path == STRTAB_NONE)
		list[file].path = make_path(f, &list[file], strings);
	return list[file].path;
}

/* The line program while it runs. */
struct machine {
	const struct dwarf_files *files;
	struct cursor c;
	uint64_t address;
	struct dwarf_position position;
	struct rangemap *map;
	struct buf *rows;      /* struct dwarf_position: the ones of wanted addresses */
	bool has_last;         /* a row of this sequence came before */
	uint64_t last_address; /* its address */
	struct dwarf_position last;
	size_t next; /* the first wanted address at or behind last_address */
};

static void begin_sequence(struct machine *m)
{
	m->address = 0;
	m->position = (struct dwarf_position){ 1, 1 };
	m->has_last = false;
}

/* The row before holds for the addresses up to this one. */
static void end_row(struct machine *m)
{
	const struct rangemap *c = m->map;
	uint32_t index = (uint32_t)(m->rows->len / sizeof m->last);

	if (m->next == c->count || c->wanted[m->next] >= m->address)
		return;
	if (!rangemap_add(m->map, m->last_address, m->address, index))
		return;
	buf_put(m->rows, &m->last, sizeof m->last);
	m->next = rangemap_first(c, m->address);
}

static void emit_row(struct machine *m)
{
	if (m->has_last && m->address >= m->last_address)
		end_row(m);
	else
		m->next = rangemap_first(m->map, m->address);
	/* Sequences of code that the linker dropped start at 0. */
	m->has_last = m->address >= m->files->unit.dwarf->min_address && m->address != 0;
	m->last_address = m->address;
	m->last = m->position;
}

static void advance_address(struct machine *m, uint64_t count)
{
	m->address += count * m->files->min_length;
}

static void run_extended(struct machine *m)
{
	uint64_t len = cursor_uleb(&m->c);
	struct cursor c = cursor_sub(&m->c, len);

	switch (cursor_u8(&c)) {
	case LNE_END_SEQUENCE:
		emit_row(m);
		begin_sequence(m);
		break;
	case LNE_SET_ADDRESS:
		m->address = cursor_left(&c) >= 8 ? cursor_u64(&c) : cursor_u32(&c);
		break;
	default:
		break; /* files defined here were never written by the compilers we know */
	}
}

static void run_standard(struct machine *m, unsigned opcode)
{
	const struct dwarf_files *f = m->files;

	switch (opcode) {
	case LNS_COPY:
		emit_row(m);
		return;
	case LNS_ADVANCE_PC:
		advance_address(m, cursor_uleb(&m->c));
		return;
	case LNS_ADVANCE_LINE:
		m->position.line += (uint64_t)cursor_sleb(&m->c);
		return;
	case LNS_SET_FILE:
		m->position.file = cursor_uleb(&m->c);
		return;
	case LNS_CONST_ADD_PC:
		advance_address(m, (255U - f->opcode_base) / f->line_range);
		return;
	case LNS_FIXED_ADVANCE_PC:
		m->address += cursor_u16(&m->c);
		return;
	default:
		for (unsigned i = 0; i < f->operands[opcode]; i++)
			cursor_uleb(&m->c);
	}
}

static void run(struct machine *m)
{
	const struct dwarf_files *f = m->files;

	begin_sequence(m);
	while (m->c.at < m->c.end && !m->c.bad) {
		unsigned opcode = *m->c.at++;

		if (opcode >= f->opcode_base) {
			opcode -= f->opcode_base;
			advance_address(m, opcode / f->line_range);
			m->position.line +=
				(uint64_t)((int64_t)f->line_base + opcode % f->line_range);
			emit_row(m);
		} else if (opcode == 0) {
			run_extended(m);
		} else {
			run_standard(m, opcode);
		}
	}
}

void dwarf_find_lines(struct dwarf_unit *u, const uint64_t *wanted, size_t count,
		      struct dwarf_position *ret)
{
	struct dwarf_files *f = unit_files(u);
	struct rangemap map = rangemap_make(wanted, count);
	struct buf rows = { 0 };
	struct machine m = { .files = f, .map = &map, .rows = &rows };
	uint32_t *which = malloc((count + 1) * sizeof *which);

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct dwarf_position){ 0 };
	if (f && dwarf_spend(u->dwarf, cursor_left(&f->program))) {
		m.c = f->program;
		run(&m);
	}
	if (!which || rangemap_resolve(&map, which) < 0 || buf_error(&rows) < 0) {
		u->dwarf->bad = true;
	} else {
		for (size_t i = 0; i < count; i++)
			if (which[i] != RANGEMAP_NONE)
				ret[i] = ((struct dwarf_position *)(void *)rows.data)[which[i]];
	}
	free(which);
	rangemap_fini(&map);
	buf_fini(&rows);
}
