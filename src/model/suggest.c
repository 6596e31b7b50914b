/* SPDX-License-Identifier: MIT */
#include "model/suggest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strtab.h"

#define SHOWN_MAX 5 /* names that are listed when none is like the wanted one */

void suggest_functions(const struct profile *p, struct nearest *n)
{
	for (uint32_t i = 1; i < profile_function_count(p); i++)
		nearest_add(n, profile_text(p, profile_get_function(p, i)->name));
}

static bool intern_value(struct strtab *values, const struct profile *p, const struct label *label)
{
	char number[24];
	const char *text = number;

	if (label->str)
		text = profile_text(p, label->str);
	else
		snprintf(number, sizeof number, "%" PRId64, label->num);
	return strtab_intern(values, text, strlen(text)) != STRTAB_NONE;
}

/* false: out of memory. */
static bool collect(struct strtab *values, const struct profile *p, const char *key)
{
	bool is_complete = true;

	for (uint32_t set = 0; set < profile_label_set_count(p); set++) {
		size_t count;
		const struct label *labels = profile_get_labels(p, set, &count);

		for (size_t i = 0; i < count; i++)
			if (strcmp(profile_text(p, labels[i].key), key) == 0)
				is_complete &= intern_value(values, p, &labels[i]);
	}
	return is_complete;
}

/* false: out of memory. */
static bool collect_keys(struct strtab *keys, const struct profile *p)
{
	bool is_complete = true;

	for (uint32_t set = 0; set < profile_label_set_count(p); set++) {
		size_t count;
		const struct label *labels = profile_get_labels(p, set, &count);

		for (size_t i = 0; i < count; i++) {
			const char *key = profile_text(p, labels[i].key);

			is_complete &= strtab_intern(keys, key, strlen(key)) != STRTAB_NONE;
		}
	}
	return is_complete;
}

static void list(const struct strtab *names, struct buf *out)
{
	size_t count = strtab_count(names);

	for (uint32_t i = 0; i < count && i < SHOWN_MAX; i++)
		buf_printf(out, "%s'%s'",
			   !i              ? "; there are "
			   : i + 1 < count ? ", "
					   : " and ",
			   strtab_get(names, i).ptr);
	if (count > SHOWN_MAX)
		buf_printf(out, " and %zu more", count - SHOWN_MAX);
}

/* The names that are like wanted, else the first few that there are. false: there are none. */
static bool put_names(const struct strtab *names, const char *wanted, struct buf *out)
{
	struct nearest near = nearest_start(wanted, strlen(wanted));

	for (uint32_t i = 0; i < strtab_count(names); i++)
		nearest_add(&near, strtab_get(names, i).ptr);
	if (near.count)
		buf_put_str(out, nearest_text(&near, ""));
	else
		list(names, out);
	return strtab_count(names) > 0;
}

void suggest_label_values(const struct profile *p, const char *key, const char *wanted,
			  struct buf *out)
{
	struct strtab *values = strtab_new();

	if (!values || !collect(values, p, key)) {
		out->bad = true;
	} else if (!put_names(values, wanted, out)) {
		buf_put_str(out, "; ");
		suggest_labels(p, key, out);
	}
	strtab_free(values);
}

void suggest_labels(const struct profile *p, const char *key, struct buf *out)
{
	struct strtab *keys = strtab_new();

	if (!keys || !collect_keys(keys, p)) {
		out->bad = true;
	} else {
		buf_printf(out, "no sample has the label '%s'", key);
		put_names(keys, key, out);
	}
	strtab_free(keys);
}
