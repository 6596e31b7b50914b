/* SPDX-License-Identifier: MIT */
/* An ELF file: its rules, found one at a time, are in bounds, and the same when found again. */
#include "unwind/lookup.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static void check_around(struct unwind_lookup *l, uint64_t vaddr)
{
	for (uint64_t at = vaddr - 8; at != vaddr + 64; at += 3) {
		const struct unwind_rule *rule = unwind_lookup_find(l, at);

		FUZZ_CHECK(rule->cfa <= UNWIND_CFA_SIGNAL && rule->reg < UNWIND_REG_COUNT);
		FUZZ_CHECK(unwind_lookup_find(l, at) == rule);
	}
}

static void check_image(const struct elf_image *image, int fd)
{
	struct unwind_lookup *l;

	if (unwind_lookup_new(image, fd, &l) < 0)
		return;
	for (uint32_t i = 0; i < image->phnum; i++) {
		struct elf_segment s = elf_get_segment(image, i);

		for (int k = 0; k < 16; k++)
			check_around(l, s.vaddr + s.mem_size / 16 * (uint64_t)k);
	}
	check_around(l, image->entry);
	check_around(l, 0);
	unwind_lookup_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_image image;
	struct err e;

	FUZZ_CHECK(fd >= 0);
	if (elf_image_init(&image, data, size, &e) == 0 && image.phnum < 64 &&
	    write(fd, data, size) == (ssize_t)size)
		check_image(&image, fd);
	close(fd);
	return 0;
}
