/* SPDX-License-Identifier: MIT */
#include "perf/stack_rest.h"

#include <string.h>

#include "tap.h"

#define SP UINT64_C(0x7ffd00001000)
#define COPIED 256

static unsigned char memory[4096]; /* of the thread, from SP on */
static size_t mapped;              /* of it */
static unsigned reads;

static size_t read_memory(uint32_t pid, uint64_t at, unsigned char *to, size_t cap)
{
	size_t from = (size_t)(at - SP), len = from < mapped ? mapped - from : 0;

	CHECK_INT(pid, 7);
	reads++;
	if (len > cap)
		len = cap;
	memcpy(to, memory + from, len);
	return len;
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof memory; i++)
		memory[i] = (unsigned char)(i * 7 + i / 256);
	mapped = sizeof memory;
	reads = 0;
}

/* The copy as it was; then memory changes at an offset. */
static size_t get(struct stack_rest *r, uint64_t from, size_t changed)
{
	unsigned char copy[COPIED];
	struct record_bytes bytes = { copy, sizeof copy };
	size_t len;

	fill();
	memcpy(copy, memory, sizeof copy);
	if (changed < sizeof memory)
		memory[changed] ^= 1;
	len = stack_rest_get(r, 7, SP, bytes, from);
	if (len) {
		CHECK(memcmp(r->bytes, copy, sizeof copy) == 0);
		CHECK(memcmp(r->bytes + COPIED, memory + COPIED, len - COPIED) == 0);
	}
	return len;
}

static void test_agreement(void)
{
	CLEANUP(stack_rest_fini) struct stack_rest r = { .read = read_memory };

	CHECK_INT(get(&r, SP + 128, sizeof memory), sizeof memory);
	CHECK_INT(get(&r, SP + 128, 127), sizeof memory); /* below: it may have changed */
	CHECK_INT(get(&r, SP + 128, 128), 0);
	CHECK_INT(get(&r, SP + 128, COPIED - 1), 0);
	CHECK_INT(get(&r, SP + 128, COPIED), sizeof memory); /* behind: as it is now */
	CHECK_INT(get(&r, SP, sizeof memory), sizeof memory);
}

static void test_refused(void)
{
	CLEANUP(stack_rest_fini) struct stack_rest r = { .read = read_memory };
	struct stack_rest none = { 0 };

	CHECK_INT(get(&r, SP - 8, sizeof memory), 0);
	CHECK_INT(get(&r, SP + COPIED, sizeof memory), 0);
	CHECK_INT(get(&none, SP, sizeof memory), 0);
	fill();
	mapped = COPIED; /* the stack ends there */
	CHECK_INT(stack_rest_get(&r, 7, SP, (struct record_bytes){ memory, COPIED }, SP), 0);
	mapped = COPIED - 1; /* another program */
	CHECK_INT(stack_rest_get(&r, 7, SP, (struct record_bytes){ memory, COPIED }, SP), 0);
}

/* What completes no stack is not read for ever. */
static void test_wasted(void)
{
	CLEANUP(stack_rest_fini) struct stack_rest r = { .read = read_memory };

	for (unsigned i = 0; i < STACK_REST_WASTED; i++) {
		CHECK(get(&r, SP, sizeof memory) > 0);
		stack_rest_count(&r, i == 3);
	}
	for (unsigned i = 0; i < 4; i++) {
		CHECK(get(&r, SP, sizeof memory) > 0);
		stack_rest_count(&r, false);
	}
	CHECK_INT(get(&r, SP, sizeof memory), 0);
	CHECK_INT(reads, 0);
}

int main(void)
{
	TAP_CASE(test_agreement);
	TAP_CASE(test_refused);
	TAP_CASE(test_wasted);
	return tap_done();
}
