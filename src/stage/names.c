/* SPDX-License-Identifier: MIT */
#include "stage/names.h"

#include <pthread.h>
#include <string.h>

#include "stage/arena.h"
#include "stage/macros.h"

#define SLOTS (2 * NAMES_MAX) /* a power of two */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena arena;          /* under lock */
static struct name *list;           /* [NAMES_MAX]; an entry is written before its id is known */
static uint32_t *slots;             /* [SLOTS]: ids, 0: free; under lock for writing */
static uint32_t count = NAME_FIRST; /* under lock */

/* Source: FNV-1a, 64 bits (Fowler, Noll, Vo). */
static uint64_t hash(const char *text, size_t len)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return h ^ (h >> 32);
}

/* The id of the text, or 0 with its free slot in *ret_slot. No lock needed. */
static uint32_t find(const char *text, size_t len, size_t *ret_slot)
{
	size_t slot = hash(text, len) % SLOTS;
	uint32_t id;

	while ((id = __atomic_load_n(&slots[slot], __ATOMIC_ACQUIRE)) != 0) {
		if (list[id].len == len && memcmp(list[id].text, text, len) == 0)
			return id;
		slot = (slot + 1) % SLOTS;
	}
	*ret_slot = slot;
	return 0;
}

static int make_tables(void)
{
	struct name *names;
	uint32_t *table;

	if (LOAD_ACQUIRE(slots))
		return 0;
	names = arena_alloc(&arena, NAMES_MAX * sizeof *names);
	table = arena_alloc(&arena, SLOTS * sizeof *table);
	if (!names || !table)
		return -1;
	names[NAME_OTHER] = (struct name){ "other", 5 };
	list = names;
	__atomic_store_n(&slots, table, __ATOMIC_RELEASE);
	return 0;
}

static uint32_t add(const char *text, size_t len, size_t slot, bool is_static)
{
	char *copy;

	if (count >= (is_static ? NAMES_MAX : NAMES_MAX - NAMES_RESERVED))
		return NAME_OTHER;
	copy = arena_alloc(&arena, len + 1);
	if (!copy)
		return NAME_OTHER;
	memcpy(copy, text, len);
	list[count] = (struct name){ copy, len };
	__atomic_store_n(&slots[slot], count, __ATOMIC_RELEASE);
	return count++;
}

uint32_t names_intern(const char *text, size_t len, bool is_static)
{
	uint32_t id = 0;
	size_t slot;

	if (len == 0)
		text = "";
	if (len > NAME_LEN_MAX)
		len = NAME_LEN_MAX;
	if (__atomic_load_n(&slots, __ATOMIC_ACQUIRE))
		id = find(text, len, &slot);
	if (id)
		return id;

	pthread_mutex_lock(&lock);
	if (make_tables() < 0) {
		id = NAME_OTHER;
	} else {
		id = find(text, len, &slot);
		if (!id)
			id = add(text, len, slot, is_static);
	}
	pthread_mutex_unlock(&lock);
	return id;
}

struct name names_get(uint32_t id)
{
	static const struct name other = { "other", 5 };

	return id == NAME_OTHER ? other : list[id];
}

void names_lock(void)
{
	pthread_mutex_lock(&lock);
}

void names_unlock(void)
{
	pthread_mutex_unlock(&lock);
}
