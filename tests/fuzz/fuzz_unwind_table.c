/* SPDX-License-Identifier: MIT */
/*
 * Call frame information, or a whole ELF file: a table of it is in order, no larger than the
 * input allows, and answers for every address.
 *
 * An input that starts like an ELF file is one. Else its first byte chooses the machine
 * (bit 0) and .debug_frame (bit 1), and the rest is the section.
 */
#include "cfi_image.h"
#include "unwind/table.h"

static void check_table(const struct unwind_table *t, size_t size)
{
	struct unwind_table_size measure = unwind_table_measure(t);
	uint64_t last = 0, vaddr = 0;

	FUZZ_CHECK(measure.rows > 0);
	FUZZ_CHECK(measure.bytes <= 65536 + 48 * (uint64_t)size);
	for (uint32_t i = 0; i < measure.rows; i++, last = vaddr) {
		const struct unwind_rule *rule = unwind_table_row(t, i, &vaddr);

		FUZZ_CHECK(i == 0 || vaddr > last);
		FUZZ_CHECK(unwind_table_find(t, vaddr) == rule);
		FUZZ_CHECK(rule->cfa <= UNWIND_CFA_SIGNAL && rule->reg < UNWIND_REG_COUNT);
	}
	FUZZ_CHECK(unwind_table_find(t, UINT64_MAX)->cfa == UNWIND_CFA_NONE);
}

static void check_image(const struct elf_image *image, size_t size)
{
	struct unwind_table *table;
	struct err e;

	if (unwind_table_new(image, image, &table, &e) < 0)
		return;
	check_table(table, size);
	unwind_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image image;
	struct cfi_image made;
	struct err e;

	if (elf_image_init(&image, data, size, &e) == 0) {
		check_image(&image, 1100 * size); /* as its sections may be compressed */
		return 0;
	}
	if (size < 1)
		return 0;
	made = cfi_image_make(data[0] & 1 ? EM_AARCH64 : EM_X86_64, data[0] & 2, data + 1,
			      size - 1);
	check_image(&made.image, size);
	cfi_image_fini(&made);
	return 0;
}
