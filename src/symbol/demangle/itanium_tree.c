/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_tree.h"

#include <string.h>

#include "base/number.h"

#define MAX_DEPTH 400 /* of parsers within parsers; real names stay below 100 */

bool itanium_take(struct itanium *p, char c)
{
	if (p->at >= p->len || p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

bool itanium_take_text(struct itanium *p, const char *text)
{
	size_t len = strlen(text);

	if (p->len - p->at < len || memcmp(p->text + p->at, text, len) != 0)
		return false;
	p->at += len;
	return true;
}

bool itanium_number(struct itanium *p, uint32_t *ret)
{
	size_t begin = p->at;
	uint64_t value = 0;

	while (number_is_digit(itanium_peek(p)) && value < UINT32_MAX / 16)
		value = value * 10 + (uint64_t)(p->text[p->at++] - '0');
	*ret = (uint32_t)value;
	return p->at > begin;
}

uint32_t itanium_sequence(struct itanium *p)
{
	uint32_t value;

	if (itanium_take(p, '_'))
		return 0;
	if (!itanium_number(p, &value) || !itanium_take(p, '_'))
		return itanium_fail(p);
	return value + 1;
}

bool itanium_enter(struct itanium *p)
{
	if (++p->depth > MAX_DEPTH)
		p->bad = true;
	return !p->bad;
}

void itanium_leave(struct itanium *p)
{
	p->depth--;
}

uint32_t itanium_fail(struct itanium *p)
{
	p->bad = true;
	return 0;
}

uint32_t itanium_add(struct itanium *p, struct node node)
{
	uint32_t id = (uint32_t)(p->nodes.len / sizeof node);

	if (p->bad)
		return 0;
	buf_put(&p->nodes, &node, sizeof node);
	return buf_error(&p->nodes) < 0 ? itanium_fail(p) : id;
}

uint32_t itanium_add_pair(struct itanium *p, enum node_kind kind, uint32_t left, uint32_t right)
{
	return itanium_add(p, (struct node){ .kind = kind, .left = left, .right = right });
}

uint32_t itanium_add_text(struct itanium *p, const char *text)
{
	return itanium_add(
		p, (struct node){ .kind = NODE_TEXT, .text = text, .len = (uint32_t)strlen(text) });
}

void itanium_append(struct itanium *p, uint32_t *first, uint32_t *last, uint32_t element)
{
	uint32_t id = itanium_add_pair(p, NODE_LIST, element, 0);

	if (p->bad)
		return;
	if (*last)
		itanium_node(p, *last)->right = id;
	else
		*first = id;
	*last = id;
}

uint32_t itanium_remember(struct itanium *p, uint32_t id)
{
	buf_put(&p->substitutions, &id, sizeof id);
	if (buf_error(&p->substitutions) < 0)
		return itanium_fail(p);
	return id;
}
