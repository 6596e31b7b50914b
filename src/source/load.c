/* SPDX-License-Identifier: MIT */
#include "source/load.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "format/decode.h"
#include "format/folded.h"
#include "format/formats.h"
#include "format/perfdata/folder.h"
#include "format/perfdata/perfdata.h"
#include "model/filter.h"
#include "model/prune.h"
#include "model/suggest.h"
#include "source/spool.h"

/* The profile is missing: its recording may have been killed. */
static void mention_spool(const char *path, struct err *e)
{
	CLEANUP(buf_fini) struct buf spool = { 0 };

	buf_printf(&spool, "%s" SPOOL_ENDING, path);
	if (e->code != -ENOENT || buf_error(&spool) < 0 || access(spool.data, R_OK) < 0)
		return;
	err_set(e, -ENOENT, "%s: %s; its recording %s: 'auger report %s' shows it", path,
		strerror(ENOENT), spool_is_active(spool.data) ? "goes on" : "was interrupted",
		spool.data);
}

/* What is to be read. */
struct request {
	const char *path, *from;
	bool is_found; /* in a folder, not named by the user */
};

/* load: file_load() or file_load_regular(). */
static int load_by(int (*load)(const char *, struct file_input *, struct err *), const char *path,
		   const char *from, struct file_input *ret, const struct format **ret_format,
		   struct err *e)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	const struct format *format = from ? format_find(from) : NULL;
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct nearest near;
	int rc;

	if (from && !format)
		return err_usage(e, "--from: no format '%s'%s", from, formats_hint(from, &near));
	rc = load(path, &in, e);
	if (rc < 0)
		mention_spool(path, e);
	else
		rc = decode_input(&in, name, format, e);
	if (rc < 0)
		return rc;
	*ret_format = format ? format : format_detect(path, in.data, in.len);
	*ret = in;
	in = (struct file_input){ 0 }; /* handed over */
	return 0;
}

int load_input(const char *path, const char *from, struct file_input *ret,
	       const struct format **ret_format, struct err *e)
{
	return load_by(file_load, path, from, ret, ret_format, e);
}

static int check_format(const char *path, const struct format *format, const struct file_input *in,
			struct err *e)
{
	if (!format && !in->len)
		return err_set(e, -EINVAL, "%s: is empty", path);
	if (!format)
		return err_set(e, -EINVAL, "%s: of no known format", path);
	if (!format->read)
		return err_set(e, -EINVAL, "%s: format %s cannot be read", path, format->name);
	return 0;
}

/* A recording that was killed while it began. */
static bool is_empty_spool(const struct profile *p, const char *path)
{
	return text_ends_with(path, SPOOL_ENDING) && !profile_sample_count(p);
}

static int read_as(struct profile *p, const struct format *format, const char *path,
		   const struct file_input *in, struct err *e)
{
	int rc;

	log_msg(LOG_INFO, "load", "%s: %zu bytes of format %s", path, in->len, format->name);
	rc = format->read_input ? format->read_input(p, in, e)
				: format->read(p, in->data, in->len, e);
	if (rc < 0)
		return err_wrap(e, "%s", path);
	if (is_empty_spool(p, path))
		log_msg(LOG_WARN, "load", "%s has no samples: its recording %s", path,
			spool_is_active(path) ? "goes on" : "was interrupted before the first");
	return 0;
}

/* Not every file of a folder is a profile. Most text with numbers at the ends of its lines looks
 * like folded stacks. */
static bool is_other_file(const struct request *r, const struct format *format)
{
	return r->is_found && !r->from &&
	       (!format || !format->read ||
		(format == &format_folded && !format_is_named(format, r->path)));
}

/* A file that cannot be opened or unpacked, and does not look like a profile by its name. */
static bool is_skipped(const struct request *r, struct err *e)
{
	if (!r->is_found || r->from || e->code == -ENOMEM || format_is_named(NULL, r->path))
		return false;
	log_msg(LOG_WARN, "load", "%s; it is skipped", e->msg);
	*e = (struct err){ 0 };
	return true;
}

/* *ret_format stays NULL when the file is to be skipped. */
static int read_file(struct profile *p, const struct request *r, const struct format **ret_format,
		     struct err *e)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	const struct format *format = NULL;
	const char *path = strcmp(r->path, "-") == 0 ? "standard input" : r->path;
	int rc = load_by(r->is_found ? file_load_regular : file_load, r->path, r->from, &in,
			 &format, e);

	if (rc < 0)
		return is_skipped(r, e) ? 0 : rc;
	if (is_other_file(r, format))
		return 0;
	if (!in.len && is_empty_spool(p, path))
		return err_set(e, -ENODATA,
			       "%s: is empty: its recording was interrupted before it sampled",
			       path);
	rc = check_format(path, format, &in, e);
	if (rc < 0)
		return rc;
	rc = read_as(p, format, path, &in, e);
	if (file_input_check(&in, path, e) < 0)
		return e->code;
	*ret_format = format;
	return rc;
}

static int read_into(struct profile *p, const struct request *r, const struct format **ret_format,
		     struct err *e)
{
	if (!r->is_found && perfdata_is_folder(r->path) &&
	    (!r->from || format_find(r->from) == &format_perfdata)) {
		*ret_format = &format_perfdata;
		return perfdata_read_folder(p, r->path, e);
	}
	return read_file(p, r, ret_format, e);
}

/* *ret stays NULL when the file is to be skipped. */
static int load_named(const struct request *r, const struct binaries_args *places,
		      struct profile **ret, struct err *e)
{
	const struct binaries_args none = { 0 };
	struct profile *p = profile_new();
	int64_t start_ns = clock_mono_ns(), read_ns;
	const struct format *format = NULL;
	int rc;

	if (!p)
		return err_nomem(e);
	rc = read_into(p, r, &format, e);
	read_ns = clock_mono_ns();
	if (rc == 0 && format)
		rc = binaries_name(p, places ? places : &none, format->is_foreign, e);
	if (rc < 0 || !format) {
		profile_free(p);
		return rc;
	}
	log_msg(LOG_INFO, "load",
		"%zu stacks of %zu functions, read in %.3f s, symbolized in %.3f s",
		profile_sample_count(p), profile_function_count(p) - 1,
		(double)(read_ns - start_ns) / NS_PER_S,
		(double)(clock_mono_ns() - read_ns) / NS_PER_S);
	*ret = p;
	return 0;
}

int load_whole_profile(const char *path, const char *from, const struct binaries_args *places,
		       struct profile **ret, struct err *e)
{
	return load_named(&(struct request){ .path = path, .from = from }, places, ret, e);
}

/* Frames that the profile itself wants left out (pprof's drop_frames). */
static int leave_out(struct profile *p, struct profile **ret, struct err *e)
{
	struct err reason = { 0 };
	int rc = profile_prune(&p, &reason);

	if (rc == -EINVAL) {
		log_msg(LOG_WARN, "load", "all frames are shown: %s", reason.msg);
		rc = 0;
	}
	if (rc < 0) {
		profile_free(p);
		*e = reason;
		return rc;
	}
	*ret = p;
	return 0;
}

int load_profile(const char *path, const char *from, const struct binaries_args *places,
		 struct profile **ret, struct err *e)
{
	struct profile *p;
	int rc = load_whole_profile(path, from, places, &p, e);

	return rc < 0 ? rc : leave_out(p, ret, e);
}

int load_found_profile(const char *path, const char *from, const struct binaries_args *places,
		       bool is_whole, struct profile **ret, struct err *e)
{
	const struct request r = { .path = path, .from = from, .is_found = true };
	struct profile *p = NULL;
	int rc = load_named(&r, places, &p, e);

	*ret = NULL;
	if (rc < 0 || !p)
		return rc;
	if (!is_whole)
		return leave_out(p, ret, e);
	*ret = p;
	return 0;
}

struct label_filters {
	struct label_filter list[4 * OPT_LIST_MAX];
	size_t count;
	struct buf keys; /* the KEYs of --label, NUL-terminated; names point into it */
};

static void add_all(struct label_filters *f, const char *key, const struct opt_list *values)
{
	for (size_t i = 0; i < values->count; i++)
		f->list[f->count++] = (struct label_filter){ key, values->items[i] };
}

static int add_labels(struct label_filters *f, const struct opt_list *labels, struct err *e)
{
	size_t at = 0;

	for (size_t i = 0; i < labels->count; i++) {
		const char *text = labels->items[i], *equals = strchr(text, '=');

		if (!equals || equals == text)
			return err_usage(e, "--label: '%s' is not KEY=REGEX", text);
		buf_put(&f->keys, text, (size_t)(equals - text));
		buf_put_byte(&f->keys, 0);
	}
	if (buf_error(&f->keys) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < labels->count; i++) {
		const char *key = f->keys.data + at;

		f->list[f->count++] =
			(struct label_filter){ key, strchr(labels->items[i], '=') + 1 };
		at += strlen(key) + 1;
	}
	return 0;
}

static int filter_into(const struct profile *p, const struct filter_args *args,
		       struct profile **ret, struct label_filters *labels, struct err *e)
{
	struct profile_filter filter = { .focus = args->focus, .ignore = args->ignore };
	int rc = add_labels(labels, &args->label, e);

	if (rc < 0)
		return rc;
	add_all(labels, "comm", &args->comm);
	add_all(labels, "pid", &args->pid);
	add_all(labels, "tid", &args->tid);
	filter.labels = labels->list;
	filter.label_count = labels->count;
	*ret = NULL;
	if (profile_filter_is_empty(&filter))
		return 0;
	rc = profile_filter(p, &filter, ret, e);
	return rc == -EINVAL ? (e->code = ERR_USAGE) : rc;
}

/* The names that exist instead, where the filter is one condition. */
static void suggest(const struct profile *p, const struct filter_args *args,
		    const struct label_filters *labels, struct buf *words)
{
	const char *frame = args->focus && !args->ignore ? args->focus : NULL;

	if (!frame && !args->ignore && labels->count == 1) {
		suggest_label_values(p, labels->list[0].key, labels->list[0].regex, words);
	} else if (frame && !labels->count) {
		struct nearest near = nearest_start(frame, strlen(frame));

		suggest_functions(p, &near);
		buf_put_str(words, nearest_text(&near, ""));
	}
}

static void warn_empty(const struct profile *p, const struct filter_args *args,
		       const struct label_filters *labels)
{
	CLEANUP(buf_fini) struct buf words = { 0 };
	size_t len;

	describe_filter(args, &words);
	len = words.len;
	suggest(p, args, labels, &words);
	if (words.len == len)
		buf_put_str(&words, "; 'auger report' without it shows what there is");
	if (buf_error(&words) < 0)
		log_msg(LOG_WARN, "filter", "no sample matches: out of memory for more");
	else
		log_msg(LOG_WARN, "filter", "no sample matches %s", words.data);
}

int apply_filter(struct profile **p, const struct filter_args *args, struct err *e)
{
	struct label_filters labels = { 0 };
	struct profile *kept;
	int rc = filter_into(*p, args, &kept, &labels, e);

	if (rc == 0 && kept) {
		if (profile_sample_count(*p) && !profile_sample_count(kept))
			warn_empty(*p, args, &labels);
		log_msg(LOG_INFO, "filter", "%zu of %zu stacks match", profile_sample_count(kept),
			profile_sample_count(*p));
		profile_free(*p);
		*p = kept;
	}
	buf_fini(&labels.keys);
	return rc;
}

void warn_absent_label(const struct profile *p, const char *key)
{
	CLEANUP(buf_fini) struct buf words = { 0 };

	if (strcmp(key, "thread") == 0)
		key = "tid";
	for (size_t i = 0; i < profile_sample_count(p); i++)
		if (profile_find_label(p, profile_get_sample(p, i).labels, key))
			return;
	if (!profile_sample_count(p))
		return;
	suggest_labels(p, key, &words);
	log_msg(LOG_WARN, "filter", "%s", buf_error(&words) < 0 ? "out of memory" : words.data);
}

static void describe(struct buf *out, const char *option, const char *value)
{
	buf_printf(out, "%s--%s '%s'", out->len ? " " : "", option, value);
}

static void describe_list(struct buf *out, const char *option, const struct opt_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		describe(out, option, list->items[i]);
}

void describe_filter(const struct filter_args *f, struct buf *out)
{
	if (f->focus)
		describe(out, "focus", f->focus);
	if (f->ignore)
		describe(out, "ignore", f->ignore);
	describe_list(out, "comm", &f->comm);
	describe_list(out, "pid", &f->pid);
	describe_list(out, "tid", &f->tid);
	describe_list(out, "label", &f->label);
}

/* One of several events is shown: not without a word. */
static void log_choice(const struct profile *p)
{
	CLEANUP(buf_fini) struct buf known = { 0 };
	struct value_type shown;

	if (!profile_get_info(p)->has_events || profile_type_count(p) < 3)
		return;
	for (size_t i = 1; i < profile_type_count(p); i++)
		buf_printf(&known, "%s%s", i > 1 ? ", " : "",
			   profile_text(p, profile_get_type(p, i).type));
	shown = profile_get_type(p, profile_default_type(p));
	if (buf_error(&known) == 0)
		log_msg(LOG_WARN, "load", "of the events %s this is %s; --value chooses another",
			known.data, profile_text(p, shown.type));
}

int choose_type(const struct profile *p, const char *name, size_t *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf known = { 0 };
	int found = name ? profile_find_type(p, name) : -1;

	if (!name)
		log_choice(p);
	if (!name || found >= 0) {
		*ret = name ? (size_t)found : profile_default_type(p);
		return 0;
	}
	for (size_t i = 0; i < profile_type_count(p); i++)
		buf_printf(&known, "%s%s", i ? ", " : "",
			   profile_text(p, profile_get_type(p, i).type));
	if (buf_error(&known) < 0)
		return err_nomem(e);
	return err_usage(e, "--value: no sample type '%s'; there are: %s", name,
			 known.data ? known.data : "none");
}
