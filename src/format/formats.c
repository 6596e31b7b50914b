/* SPDX-License-Identifier: MIT */
#include "format/formats.h"

#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "format/akaros/akaros.h"
#include "format/callgrind/callgrind.h"
#include "format/csv.h"
#include "format/dot/dot.h"
#include "format/firefox/firefox.h"
#include "format/folded.h"
#include "format/gperftools/gperftools.h"
#include "format/json/cpuprofile.h"
#include "format/json/dhat.h"
#include "format/json/heapprofile.h"
#include "format/json/trace_events.h"
#include "format/perfdata/perfdata.h"
#include "format/perfscript/perfscript.h"
#include "format/pprof/pprof.h"
#include "format/speedscope.h"
#include "format/stacktext/bpftrace.h"
#include "format/stacktext/calltree_csv.h"
#include "format/stacktext/counted.h"
#include "format/stacktext/gotext.h"
#include "format/stacktext/instruments.h"
#include "format/stacktext/jstack.h"
#include "format/stacktext/legacy.h"
#include "format/stacktext/pmcstat.h"
#include "format/stacktext/pprof_raw.h"
#include "format/stacktext/reports.h"
#include "format/stacktext/sample.h"
#include "format/stacktext/threads.h"

/* Text formats come last: their detection is the weakest. */
/* clang-format off */
const struct format *const formats[] = {
	&format_pprof,
	&format_pprof_text,
	&format_gperftools,
	&format_gperftools_symbols,
	&format_akaros,
	&format_perfdata,
	&format_cpuprofile,
	&format_heapprofile,
	&format_dhat,
	&format_trace,
	&format_callgrind,
	&format_bpftrace,
	&format_sample,
	&format_instruments,
	&format_vtune,
	&format_vsprof,
	&format_go,
	&format_pprof_raw,
	&format_jstack,
	&format_gdb,
	&format_elfutils,
	&format_faulthandler,
	&format_pmcstat,
	&format_wcp,
	&format_procstack,
	&format_ljp,
	&format_dtrace,
	&format_systemtap,
	&format_bcc,
	&format_perfscript,
	&format_speedscope,
	&format_firefox,
	&format_dot,
	&format_csv,
	&format_folded,
	NULL,
};
/* clang-format on */

const struct format *format_find(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

const char *formats_hint(const char *name, struct nearest *near)
{
	*near = nearest_start(name, strlen(name));
	for (size_t i = 0; formats[i]; i++)
		nearest_add(near, formats[i]->name);
	return near->count ? nearest_text(near, "") : "; 'auger convert --list' shows the formats";
}

/* path: [0..len). */
static bool has_suffix_at(const char *path, size_t len, const struct format *format)
{
	for (size_t i = 0; format->suffixes[i]; i++) {
		size_t end = strlen(format->suffixes[i]);

		if (len >= end && memcmp(path + len - end, format->suffixes[i], end) == 0)
			return true;
	}
	return false;
}

static bool has_suffix_of(const char *path, const struct format *format)
{
	return has_suffix_at(path, strlen(path), format);
}

const struct format *format_detect(const char *path, const unsigned char *data, size_t len)
{
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->detect && formats[i]->detect(data, len))
			return formats[i];
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->read && has_suffix_of(path, formats[i]))
			return formats[i];
	return NULL;
}

bool format_is_named(const struct format *format, const char *path)
{
	static const char *const packers[] = { ".gz", ".xz", ".zst", ".bz2", "" };
	size_t i = 0, len = strlen(path);

	while (!text_ends_with(path, packers[i]))
		i++;
	len -= strlen(packers[i]);
	if (format)
		return has_suffix_at(path, len, format) || has_suffix_of(path, format);
	for (i = 0; formats[i]; i++)
		if (formats[i]->read &&
		    (has_suffix_at(path, len, formats[i]) || has_suffix_of(path, formats[i])))
			return true;
	return false;
}

const struct format *format_for_output(const char *path)
{
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->write && has_suffix_of(path, formats[i]))
			return formats[i];
	return NULL;
}
