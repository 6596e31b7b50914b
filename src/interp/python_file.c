/* SPDX-License-Identifier: MIT */
#include "interp/python_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/file.h"
#include "interp/python_layout.h"

#define VERSION_TEXT "python3."
#define LIBRARY "libpython3."
#define KERNEL_MINOR_BITS 20 /* of a device's number */
#define SYMBOLS_MAX ((uint64_t)1 << 20)

static const char *const folded[] = {
	"_PyEval_Vector",
	"_PyEval_EvalFrame",
	"PyEval_EvalFrameEx",
	"PyEval_EvalFrame",
	"PyEval_EvalCode",
	"PyEval_EvalCodeEx",
	"_PyEval_EvalCodeWithName",
	"_PyEval_EvalCode",
	"py_trampoline_evaluator",
	"_PyFunction_Vectorcall",
	"_PyFunction_FastCallDict",
	"function_code_fastcall",
	"call_function",
	"do_call_core",
	"PyObject_Vectorcall",
	"_PyObject_Vectorcall",
	"_PyObject_VectorcallTstate",
	"_PyObject_VectorcallDictTstate",
	"PyObject_VectorcallDict",
	"PyObject_Call",
	"_PyObject_Call",
	"PyObject_CallObject",
	"_PyObject_FastCall",
	"_PyObject_FastCallDict",
	"_PyObject_FastCallDictTstate",
	"PyVectorcall_Call",
	"_PyVectorcall_Call",
	"PyObject_CallOneArg",
	"PyObject_CallNoArgs",
	"object_vacall",
	"method_vectorcall",
	"vectorcall_method",
	"vectorcall_unbound",
	"vectorcall_maybe",
	"_PyObject_MakeTpCall",
	"_PyObject_Call_Prepend",
	"slot_tp_call",
	"slot_tp_init",
	"gen_send_ex",
	"gen_send_ex2",
	"gen_iternext",
	"PyGen_am_send",
	"_PyGen_Send",
};

/* Names of the compiler's parts of a function end with these. */
static const char *const endings[] = { ".cold", ".constprop", ".isra", ".part", ".lto_priv" };

static bool is_named(const char *name, const char *function)
{
	size_t len = strlen(function);

	if (strncmp(name, function, len) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (strncmp(name + len, endings[i], strlen(endings[i])) == 0)
			return true;
	return name[len] == '\0';
}

static enum interp_kind kind_of(const char *name)
{
	if (is_named(name, "_PyEval_EvalFrameDefault") || strncmp(name, "_TAIL_CALL_", 11) == 0)
		return INTERP_EVAL;
	for (size_t i = 0; i < ARRAY_LEN(folded); i++)
		if (is_named(name, folded[i]))
			return INTERP_FOLD;
	return INTERP_OTHER;
}

static void add_range(struct python_file_info *f, uint64_t start, uint64_t size,
		      enum interp_kind kind)
{
	if (f->range_count < PYTHON_FILE_RANGES && size && size < UINT64_C(1) << 32 &&
	    start < UINT64_MAX - size)
		f->ranges[f->range_count++] = (struct interp_range){ start, start + size, kind };
}

/* What _PyRuntime and others tell; Py_Version is a constant of 3.11 and later. */
struct symbols {
	uint64_t version;
	bool has_functions; /* of its symbols, functions are looked at */
};

static void take_symbol(struct python_file_info *f, struct symbols *s, const Elf64_Sym *sym,
			const char *name)
{
	enum interp_kind kind;

	if (sym->st_shndx == SHN_UNDEF)
		return;
	if (strcmp(name, "_PyRuntime") == 0) {
		f->runtime = sym->st_value;
		f->runtime_bytes = sym->st_size;
	} else if (strcmp(name, "PyCode_Type") == 0) {
		f->code_type = sym->st_value;
	} else if (strcmp(name, "Py_Version") == 0) {
		s->version = sym->st_value;
	}
	if (!s->has_functions || ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
		return;
	kind = kind_of(name);
	if (kind != INTERP_OTHER)
		add_range(f, sym->st_value, sym->st_size, kind);
}

static void take_table(const struct elf_image *image, const char *section,
		       struct python_file_info *f, struct symbols *s)
{
	struct elf_section table, names;
	const unsigned char *bytes, *text;
	uint64_t count;

	if (!elf_find_section(image, section, &table) || table.link >= image->shnum)
		return;
	names = elf_get_section(image, table.link);
	bytes = elf_section_bytes(image, &table);
	text = elf_section_bytes(image, &names);
	if (!bytes || !text || !names.size || text[names.size - 1])
		return;
	count = table.size / sizeof(Elf64_Sym);
	for (uint64_t i = 0; i < count && i < SYMBOLS_MAX; i++) {
		Elf64_Sym sym;

		memcpy(&sym, bytes + i * sizeof sym, sizeof sym);
		if (sym.st_name < names.size)
			take_symbol(f, s, &sym, (const char *)text + sym.st_name);
	}
}

static int compare(const void *a, const void *b)
{
	const struct interp_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorted, the loops before what passes calls on, none overlapping. */
static void sort_ranges(struct python_file_info *f)
{
	uint32_t n = 0;

	qsort(f->ranges, f->range_count, sizeof f->ranges[0], compare);
	for (uint32_t i = 0; i < f->range_count; i++)
		if (n == 0 || f->ranges[i].start >= f->ranges[n - 1].end)
			f->ranges[n++] = f->ranges[i];
	f->range_count = n;
}

/* The 3.N of a text that names the version, e.g. of a folder lib/python3.8; 0: none. */
static uint32_t minor_in(const unsigned char *bytes, uint64_t len)
{
	const size_t text = sizeof VERSION_TEXT - 1;
	const unsigned char *end = bytes + len;

	while (len > text + 1) {
		const unsigned char *at = memmem(bytes, len, VERSION_TEXT, text);
		uint32_t minor = 0;

		if (!at)
			return 0;
		bytes = at + text;
		for (; bytes < end && *bytes >= '0' && *bytes <= '9' && minor < 100; bytes++)
			minor = minor * 10 + (uint32_t)(*bytes - '0');
		if (minor >= PYTHON_MINOR_MIN && minor <= PYTHON_MINOR_MAX)
			return minor;
		len = (uint64_t)(end - bytes);
	}
	return 0;
}

static uint32_t find_minor(const struct elf_image *image, uint64_t version)
{
	struct elf_section strings;
	const unsigned char *bytes;
	uint64_t offset;
	uint32_t number;

	if (version && elf_offset_of_vaddr(image, version, &offset) &&
	    (bytes = elf_bytes(image, offset, sizeof number))) {
		memcpy(&number, bytes, sizeof number);
		return number >> 24 == 3 ? number >> 16 & 255 : 0;
	}
	if (!elf_find_section(image, ".rodata", &strings))
		return 0;
	bytes = elf_section_bytes(image, &strings);
	return bytes ? minor_in(bytes, strings.size) : 0;
}

/* Where the code is. */
static void take_segments(const struct elf_image *image, struct python_file_info *f)
{
	struct elf_segment text;

	f->start_code = UINT64_MAX;
	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		if (s.type == PT_INTERP)
			f->is_program = true;
		if (s.type == PT_LOAD && s.is_executable && s.vaddr < f->start_code)
			f->start_code = s.vaddr;
	}
	f->is_program |= image->type == ET_EXEC;
	if (elf_text_segment(image, &text))
		f->text_delta = text.vaddr - text.offset;
}

static void find_layout(const struct elf_image *image, struct python_file_info *f)
{
	const struct python_layout *known = python_layout_of(f->minor);
	struct python_offsets own;
	const unsigned char *bytes = NULL;
	uint64_t offset;

	if (elf_offset_of_vaddr(image, f->runtime, &offset))
		bytes = elf_bytes(image, offset, PYTHON_OFFSETS_BYTES);
	if (bytes && python_offsets_read(bytes, PYTHON_OFFSETS_BYTES, &own)) {
		f->minor = own.minor;
		f->layout = own.layout;
		f->is_free_threaded = own.is_free_threaded;
	} else if (known) {
		f->layout = *known;
	}
	if (f->is_free_threaded)
		f->layout.minor = 0;
}

void python_file_find(const struct elf_image *image, struct python_file_info *ret)
{
	struct symbols s = { .has_functions = true };
	struct elf_section runtime, names;
	const unsigned char *text;

	memset(ret, 0, sizeof *ret);
	if (!image->is_64 || image->machine != EM_X86_64)
		return;
	ret->needs_python = elf_find_section(image, ".dynstr", &names) &&
			    (text = elf_section_bytes(image, &names)) &&
			    memmem(text, names.size, LIBRARY, sizeof LIBRARY - 1);
	take_table(image, ".dynsym", ret, &s);
	if (!ret->runtime && elf_find_section(image, ".PyRuntime", &runtime)) {
		ret->runtime = runtime.vaddr;
		ret->runtime_bytes = runtime.size;
	}
	if (ret->runtime)
		take_table(image, ".symtab", ret, &s);
	sort_ranges(ret);
	if (!ret->runtime)
		return;
	take_segments(image, ret);
	ret->minor = find_minor(image, s.version);
	find_layout(image, ret);
}

bool python_file_read(const char *path, struct python_file_info *ret)
{
	struct elf_image image = { 0 };
	struct err e;
	struct stat st;
	CLEANUP(fd_close) int fd = *path ? file_open_regular(path, 0, &e) : -1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	if (elf_image_open_fd(&image, fd, "mapped file", &e) < 0)
		return true;
	elf_image_limit(&image, PYTHON_FILE_BYTES);
	python_file_find(&image, ret);
	elf_image_close(&image);
	ret->inode = st.st_ino;
	ret->device = major(st.st_dev) << KERNEL_MINOR_BITS | minor(st.st_dev);
	return true;
}
