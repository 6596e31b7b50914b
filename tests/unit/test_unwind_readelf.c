/* SPDX-License-Identifier: MIT */
/* Our tables of this machine's files against binutils' reading of the same bytes. */
#include "unwind/table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "tap.h"

#define COLUMNS_MAX 40
#define TOLD_MAX 5 /* differences that are printed */

/* A line of readelf's table: what it says of the registers that we follow. */
struct row {
	char cfa[24], ra[24], fp[24], aux[24];
};

struct reading {
	FILE *in;
	const struct unwind_table *table;
	int columns[UNWIND_SAVES]; /* index of ra, rbp, rbx among the columns, -1: not shown */
	bool is_signal;            /* of the CIE */
	struct map cies;           /* offset to index in cie_rows */
	struct buf cie_rows;       /* of struct row */
	struct buf ranges;         /* pairs of uint64_t: the functions */
	uint64_t rows, differences;
};

static bool is_save(const struct unwind_rule *r, int which, const char *text)
{
	int at;

	if (sscanf(text, "c%d", &at) == 1)
		return r->save[which] == UNWIND_SAVE_AT_CFA && r->at[which] == at;
	if (strcmp(text, "s") == 0 || (strcmp(text, "u") == 0 && which != UNWIND_RA))
		return r->save[which] == UNWIND_SAVE_SAME || r->save[which] == UNWIND_SAVE_LOST;
	if (strcmp(text, "exp") == 0)
		return r->save[which] == UNWIND_SAVE_AT_FP || r->save[which] == UNWIND_SAVE_AT_SP;
	return r->save[which] == UNWIND_SAVE_IN_REG && sscanf(text, "r%d", &at) == 1 &&
	       r->at[which] == at;
}

static bool is_cfa(const struct unwind_rule *r, const char *text)
{
	static const char *const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"
	};
	unsigned reg = r->cfa == UNWIND_CFA_SP ? 7 : r->cfa == UNWIND_CFA_FP ? 6 : r->reg;
	char want[24];

	if (strcmp(text, "exp") == 0)
		return r->cfa == UNWIND_CFA_DEREF || r->cfa == UNWIND_CFA_INDEX ||
		       r->cfa == UNWIND_CFA_PLT || r->cfa == UNWIND_CFA_UNKNOWN;
	snprintf(want, sizeof want, "%s%+d", names[reg], r->offset);
	return (r->cfa == UNWIND_CFA_SP || r->cfa == UNWIND_CFA_FP || r->cfa == UNWIND_CFA_REG ||
		r->cfa == UNWIND_CFA_JUMP) &&
	       strcmp(want, text) == 0;
}

static bool is_same(const struct unwind_rule *r, const struct row *row)
{
	if (r->cfa == UNWIND_CFA_SIGNAL)
		return strcmp(row->cfa, "exp") == 0 && strcmp(row->ra, "exp") == 0;
	if (strcmp(row->ra, "u") == 0)
		return r->cfa == UNWIND_CFA_END;
	if (!is_cfa(r, row->cfa))
		return false;
	return r->cfa == UNWIND_CFA_UNKNOWN ||
	       (is_save(r, UNWIND_RA, row->ra) && is_save(r, UNWIND_FP, row->fp) &&
		is_save(r, UNWIND_AUX, row->aux));
}

static void check_at(struct reading *g, uint64_t pc, const struct row *row)
{
	const struct unwind_rule *r = unwind_table_find(g->table, pc);

	g->rows++;
	if (is_same(r, row) || g->differences++ >= TOLD_MAX)
		return;
	fprintf(stderr,
		"at %#" PRIx64 ": cfa %d r%d%+d, ra %d %d, rbp %d %d, rbx %d %d; readelf: %s "
		"ra %s, rbp %s, rbx %s\n",
		pc, r->cfa, r->reg, r->offset, r->save[UNWIND_RA], r->at[UNWIND_RA],
		r->save[UNWIND_FP], r->at[UNWIND_FP], r->save[UNWIND_AUX], r->at[UNWIND_AUX],
		row->cfa, row->ra, row->fp, row->aux);
}

/* From a row's address to the byte before the next one. */
static void check_span(struct reading *g, uint64_t start, uint64_t end, const struct row *row)
{
	if (end <= start)
		return; /* replaced by the next line */
	check_at(g, start, row);
	check_at(g, end - 1, row);
}

static void take_header(struct reading *g, char *line)
{
	int column = 0;

	for (int i = 0; i < UNWIND_SAVES; i++)
		g->columns[i] = -1;
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"), column++) {
		if (strcmp(word, "ra") == 0)
			g->columns[UNWIND_RA] = column;
		if (strcmp(word, "rbp") == 0)
			g->columns[UNWIND_FP] = column;
		if (strcmp(word, "rbx") == 0)
			g->columns[UNWIND_AUX] = column;
	}
}

static uint64_t take_row(const struct reading *g, char *line, struct row *ret)
{
	uint64_t pc = strtoull(line, NULL, 16);
	int column = 0;

	*ret = (struct row){ .ra = "s", .fp = "s", .aux = "s" };
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"), column++) {
		if (*word == '(')
			column--; /* "r1 (rdx)": the name of the register before */
		else if (column == 1)
			snprintf(ret->cfa, sizeof ret->cfa, "%s", word);
		else if (column == g->columns[UNWIND_RA])
			snprintf(ret->ra, sizeof ret->ra, "%s", word);
		else if (column == g->columns[UNWIND_FP])
			snprintf(ret->fp, sizeof ret->fp, "%s", word);
		else if (column == g->columns[UNWIND_AUX])
			snprintf(ret->aux, sizeof ret->aux, "%s", word);
	}
	return pc;
}

static struct row cie_row(const struct reading *g, uint64_t at)
{
	uint32_t index = map_get(&g->cies, at);
	struct row row = { .cfa = "?" };

	if (index != MAP_NONE)
		memcpy(&row, g->cie_rows.data + index * sizeof row, sizeof row);
	return row;
}

/* The rows of one function, up to the empty line; start and end from its first line. */
static void read_function(struct reading *g, uint64_t start, uint64_t end, uint64_t cie)
{
	struct row row = cie_row(g, cie), next;
	uint64_t range[2] = { start, end };
	char line[1024];

	buf_put(&g->ranges, range, sizeof range);
	while (fgets(line, sizeof line, g->in) && line[0] != '\n') {
		uint64_t pc;

		if (strstr(line, "LOC")) {
			take_header(g, line);
			continue;
		}
		pc = take_row(g, line, &next);
		check_span(g, start, pc, &row);
		row = next;
		start = pc;
	}
	check_span(g, start, end, &row);
}

static void read_cie(struct reading *g, uint64_t at)
{
	char line[1024];
	struct row row;

	while (fgets(line, sizeof line, g->in) && line[0] != '\n') {
		if (strstr(line, "LOC")) {
			take_header(g, line);
			continue;
		}
		take_row(g, line, &row);
		CHECK_INT(map_put(&g->cies, at, (uint32_t)(g->cie_rows.len / sizeof row)), 0);
		buf_put(&g->cie_rows, &row, sizeof row);
	}
}

static int compare_ranges(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

/* Between the functions there must be gaps. */
static void check_gaps(struct reading *g)
{
	size_t count = g->ranges.len / 16;
	uint64_t last_end = 0;

	qsort(g->ranges.data, count, 16, compare_ranges);
	for (size_t i = 0; i < count; i++) {
		uint64_t range[2];
		unsigned cfa = 0;

		memcpy(range, g->ranges.data + i * 16, 16);
		if (last_end && range[0] > last_end)
			cfa = unwind_table_find(g->table, last_end)->cfa;
		CHECK(cfa == UNWIND_CFA_NONE || cfa == UNWIND_CFA_SIGNAL);
		last_end = range[1] > last_end ? range[1] : last_end;
	}
}

static void read_all(struct reading *g)
{
	char line[1024];

	while (fgets(line, sizeof line, g->in)) {
		const char *fde = strstr(line, " FDE cie="), *cie = strstr(line, " CIE \"");
		uint64_t start, end, at;

		if (cie)
			read_cie(g, strtoull(line, NULL, 16));
		else if (fde && sscanf(fde, " FDE cie=%" SCNx64 " pc=%" SCNx64 "..%" SCNx64, &at,
				       &start, &end) == 3)
			read_function(g, start, end, at);
	}
}

static void check_file(const char *path)
{
	struct reading g = { 0 };
	struct unwind_table *table;
	struct elf_image image;
	char command[256];
	struct err e;

	if (elf_image_open(&image, path, &e) < 0)
		return; /* not on this machine */
	if (!CHECK_INT(unwind_table_new(&image, NULL, &table, &e), 0))
		return;
	snprintf(command, sizeof command, "readelf --debug-dump=frames-interp '%s' 2>&1", path);
	g.table = table;
	g.in = popen(command, "r");
	if (CHECK(g.in)) {
		read_all(&g);
		pclose(g.in);
	}
	check_gaps(&g);
	fprintf(stderr, "%s: %" PRIu64 " addresses\n", path, g.rows);
	CHECK(g.rows > 1000);
	CHECK_INT(g.differences, 0);
	buf_fini(&g.ranges);
	buf_fini(&g.cie_rows);
	map_fini(&g.cies);
	unwind_table_free(table);
	elf_image_close(&image);
}

static void test_files(void)
{
	static const char *const paths[] = {
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/bin/python3.11",
		"/usr/bin/gdb",
	};

	if (system("readelf --version > /dev/null 2>&1") != 0) {
		SKIP("no readelf");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		check_file(paths[i]);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		check_file(argv[i]);
	TAP_CASE(test_files);
	return tap_done();
}
