/* SPDX-License-Identifier: MIT */
#include "sample/pmu.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

#define MAX_TERM 64 /* bytes */

struct pmu {
	const char *root; /* folder of devices */
	char name[MAX_TERM];
	bool is_alias; /* the terms are those of an event: no further events in it */
};

/* Reads a file of the unit, without trailing white space. */
static int read_file(const struct pmu *pmu, const char *folder, const char *name, struct buf *ret,
		     struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	int rc;

	buf_printf(&path, "%s/%s/%s%s", pmu->root, pmu->name, folder, name);
	if (buf_error(&path) < 0)
		return err_nomem(e);
	buf_clear(ret);
	rc = file_read_small(path.data, 4096, ret, e);
	while (rc == 0 && ret->len && isspace((unsigned char)ret->data[ret->len - 1]))
		ret->data[--ret->len] = '\0';
	if (rc == 0 && !ret->data)
		return err_set(e, -EINVAL, "%s: is empty", path.data);
	return rc;
}

static uint64_t *config_of(struct event *event, const char *format, size_t len)
{
	if (len == 6 && memcmp(format, "config", 6) == 0)
		return &event->config;
	if (len == 7 && memcmp(format, "config1", 7) == 0)
		return &event->config1;
	if (len == 7 && memcmp(format, "config2", 7) == 0)
		return &event->config2;
	return NULL;
}

/* format: "config:0-7,32-35": the low bits of value go to the first range, and so on. */
static int set_bits(struct event *event, const char *format, uint64_t value, struct err *e)
{
	const char *at = strchr(format, ':');
	uint64_t *config = at ? config_of(event, format, (size_t)(at - format)) : NULL;

	if (!config)
		return err_set(e, -ENOTSUP, "format '%s' is of no kind that is known", format);
	while (at) {
		char *end;
		unsigned long first = strtoul(at + 1, &end, 10);
		unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (first > last || last > 63)
			return err_set(e, -EINVAL, "format '%s' has no such bits", format);
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			*config |= (value & 1) << bit;
		at = *end == ',' ? end : NULL;
	}
	return value ? err_set(e, -EINVAL, "value is too large for format '%s'", format) : 0;
}

static int apply_terms(struct pmu *pmu, const char *text, struct event *event, struct err *e);

static int apply_event(struct pmu *pmu, const char *name, struct event *event, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct pmu alias = *pmu;
	int rc = read_file(pmu, "events/", name, &text, e);

	if (rc == -ENOENT || pmu->is_alias)
		return err_set(e, -EINVAL, "no term '%s'", name);
	if (rc < 0)
		return rc;
	alias.is_alias = true;
	return apply_terms(&alias, text.data, event, e);
}

static int apply_term(struct pmu *pmu, const char *term, struct event *event, struct err *e)
{
	CLEANUP(buf_fini) struct buf format = { 0 };
	const char *equals = strchr(term, '=');
	size_t len = equals ? (size_t)(equals - term) : strlen(term);
	uint64_t *config = config_of(event, term, len);
	uint64_t value = 1;
	char name[MAX_TERM], *end;
	int rc;

	memcpy(name, term, len);
	name[len] = '\0';
	if (strchr(name, '/') || name[0] == '.')
		return err_set(e, -EINVAL, "no term '%s'", name);
	if (equals) {
		value = strtoull(equals + 1, &end, 0);
		if (*end || end == equals + 1)
			return err_set(e, -EINVAL, "'%s' is not a number", equals + 1);
	}
	if (config) {
		*config |= value;
		return 0;
	}
	rc = read_file(pmu, "format/", name, &format, e);
	if (rc == -ENOENT && !equals)
		return apply_event(pmu, name, event, e);
	if (rc == -ENOENT)
		return err_set(e, -EINVAL, "no term '%s'", name);
	return rc < 0 ? rc : set_bits(event, format.data, value, e);
}

/* text: terms with commas between. */
static int apply_terms(struct pmu *pmu, const char *text, struct event *event, struct err *e)
{
	while (*text) {
		size_t len = strcspn(text, ",");
		char term[MAX_TERM];
		int rc;

		if (len == 0 || len >= sizeof term)
			return err_set(e, -EINVAL, "no term '%.*s'", (int)len, text);
		memcpy(term, text, len);
		term[len] = '\0';
		rc = apply_term(pmu, term, event, e);
		if (rc < 0)
			return rc;
		text += len + (text[len] == ',');
	}
	return 0;
}

static int read_type(const struct pmu *pmu, struct event *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = read_file(pmu, "", "type", &text, e);

	if (rc == -ENOENT)
		return err_set(e, -EINVAL, "no such unit in %s", pmu->root);
	if (rc < 0)
		return rc;
	ret->type = (uint32_t)strtoul(text.data, NULL, 10);
	ret->unit = "count";
	return 0;
}

int pmu_parse(const char *text, const char *devices, struct event *ret, struct err *e)
{
	const char *slash = strchr(text, '/');
	const char *end = strrchr(text, '/');
	struct pmu pmu = { .root = devices ? devices : "/sys/bus/event_source/devices" };
	size_t len = (size_t)(slash - text), terms_len = (size_t)(end - slash);
	struct event event = { 0 };
	char terms[256];
	int rc;

	if (len == 0 || len >= sizeof pmu.name || text[0] == '.' || end == slash || end[1] ||
	    terms_len > sizeof terms)
		return err_set(e, -EINVAL, "event '%s' is not PMU/TERM=VALUE,.../", text);
	memcpy(pmu.name, text, len);
	memcpy(terms, slash + 1, terms_len - 1);
	terms[terms_len - 1] = '\0';
	rc = read_type(&pmu, &event, e);
	if (rc == 0)
		rc = apply_terms(&pmu, terms, &event, e);
	if (rc < 0) {
		err_wrap(e, "event '%s'", text);
		return rc;
	}
	*ret = event;
	return 0;
}
