/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct graph_function *find(const struct graph_function *functions, uint32_t count,
					 uint64_t pc)
{
	for (uint32_t i = 0; i < count; i++)
		if (pc >= (uintptr_t)functions[i].start && pc < (uintptr_t)functions[i].stop)
			return &functions[i];
	return NULL;
}

static bool has_word(const char *words, const char *prefix, const char *word)
{
	size_t prefix_len = strlen(prefix), len = strlen(word);

	for (; *words; words += strcspn(words, " "), words += strspn(words, " "))
		if (strncmp(words, prefix, prefix_len) == 0 &&
		    strncmp(words + prefix_len, word, len) == 0 &&
		    strchr(" ", words[prefix_len + len]))
			return true;
	return false;
}

const char *graph_judge(const struct graph_function *functions, uint32_t count,
			const struct sampler_stack *stack)
{
	const struct graph_function *caller = NULL;
	bool is_direct = true; /* nothing uncounted since the caller */

	for (uint32_t i = stack->count; i-- > 0;) {
		const struct graph_function *f = find(functions, count, stack->frames[i].pc);

		if (!f) {
			is_direct = !caller;
			continue;
		}
		if (!caller && !has_word(f->callers, "", "main"))
			return "starts in a function that nothing outside calls";
		if (caller && is_direct && !has_word(f->callers, "", caller->name))
			return "a call that is not in the program";
		if (caller && !is_direct && !has_word(f->callers, "~", caller->name))
			return "a call through other code that cannot be";
		caller = f;
		is_direct = true;
	}
	if (!caller)
		return "none";
	if (!is_direct && !caller->calls_out)
		return "other code below a function that calls none";
	return NULL;
}

bool graph_is_outside(const struct graph_function *functions, uint32_t count,
		      const struct sampler_stack *stack)
{
	uint32_t i = 0;

	while (i < stack->count && !find(functions, count, stack->frames[i].pc))
		i++;
	return i > 0 && i < stack->count && find(functions, count, stack->frames[i].pc)->calls_out;
}

void graph_print(const struct graph_function *functions, uint32_t count,
		 const struct sampler_stack *stack)
{
	static const char *const ends[] = { "complete", "truncated", "no info", "broken", "full" };
	uint32_t shown = stack->count < 40 ? stack->count : 40;

	for (uint32_t i = 0; i < shown; i++) {
		const struct graph_function *f = find(functions, count, stack->frames[i].pc);

		fprintf(stderr, "  %#" PRIx64 " sp %#" PRIx64 " %s", stack->frames[i].pc,
			stack->frames[i].sp, f ? f->name : "-");
		if (f)
			fprintf(stderr, "+%#" PRIx64, stack->frames[i].pc - (uintptr_t)f->start);
		fprintf(stderr, "\n");
	}
	fprintf(stderr, "  %u frames, %s, %u guessed\n", stack->count, ends[stack->end],
		stack->guessed);
}
