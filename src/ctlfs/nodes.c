/* SPDX-License-Identifier: MIT */
#include "ctlfs/nodes.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"

/* clang-format off */
static const struct node_info infos[NODE_END] = {
	[NODE_README] = { "README", NODE_TOP, true, false, SOURCE_TEXT, 0 },
	[NODE_KPCTL] = { "kpctl", NODE_TOP, false, true, SOURCE_CTL, 0 },
	[NODE_KPDATA] = { "kpdata", NODE_TOP, false, false, SOURCE_SNAPSHOT, SNAPSHOT_HISTOGRAM },
	[NODE_KPOPROFILE] = { "kpoprofile", NODE_TOP, false, true, SOURCE_QUEUE, 0 },
	[NODE_KPTRACE] = { "kptrace", NODE_TOP, true, true, SOURCE_TEXT, 0 },
	[NODE_KPRINTX] = { "kprintx", NODE_TOP, true, true, SOURCE_TEXT, 0 },
	[NODE_MPSTAT] = { "mpstat", NODE_TOP, true, true, SOURCE_TEXT, 0 },
	[NODE_MPSTAT_RAW] = { "mpstat-raw", NODE_TOP, true, true, SOURCE_TEXT, 0 },
	[NODE_STATUS] = { "status", NODE_TOP, false, false, SOURCE_TEXT, 0 },
	[NODE_LAST_ERROR] = { "last_error", NODE_TOP, true, false, SOURCE_TEXT, 0 },
	[NODE_ERROR_LOG] = { "error_log", NODE_TOP, true, true, SOURCE_TEXT, 0 },
	[NODE_MAPS] = { "maps", NODE_TOP, false, false, SOURCE_TEXT, 0 },
	[NODE_PPROF] = { "profile.pb.gz", NODE_TOP, false, false, SOURCE_SNAPSHOT, SNAPSHOT_PPROF },
	[NODE_GPERFTOOLS] = { "profile.pprof", NODE_TOP, false, false, SOURCE_SNAPSHOT,
			      SNAPSHOT_GPERFTOOLS },
	[NODE_STREAM] = { "stream", NODE_TOP, false, false, SOURCE_STREAM, 0 },
	[NODE_CPU_CTL] = { "ctl", NODE_CPU, false, true, SOURCE_CTL, 0 },
	[NODE_CPU_STATUS] = { "status", NODE_CPU, false, false, SOURCE_TEXT, 0 },
	[NODE_CPU_KPOPROFILE] = { "kpoprofile", NODE_CPU, false, false, SOURCE_QUEUE, 0 },
};

static const char readme[] =
	"Sampling of this machine, driven by reading and writing. See auger-control(1).\n"
	"\n"
	"kpctl          write commands, one a line; read what there are, and the state\n"
	"kpoprofile     samples that opstart collects, taken away by the one reader;\n"
	"               waits while collection is on\n"
	"stream         the same for any number of readers, from when they open it\n"
	"kpdata         how often timers found each place of the kernel (start, stop)\n"
	"profile.pb.gz  all that was collected since opclear, for pprof, with names\n"
	"profile.pprof  the same for google-pprof\n"
	"maps           files that the sampled processes have in memory\n"
	"status         the state and all counts\n"
	"last_error     why the last command was refused, or ok; error_log: the last 8\n"
	"kptrace        what happened; what is written to it becomes a line\n"
	"kprintx        on, off, toggle: commands become lines of kptrace, too\n"
	"mpstat         what the cores spend their time on; reset\n"
	"cpu/N/         ctl (on, off, opstart, opstop), status, kpoprofile of one core\n"
	"s/             mkdir s/NAME makes a second set of all this, rmdir ends it\n"
	"\n"
	"optimer 0 on   opstart   (run something)   opstop   optimer all off\n"
	"cat kpoprofile > trace;  auger convert --from akaros trace -o trace.pb.gz\n";
/* clang-format on */

#define SESSION_SHIFT 32
#define CORE_SHIFT 8
#define NODE_MASK 0xff

uint64_t node_id_to_ino(struct node_id p)
{
	return p.session << SESSION_SHIFT | (uint64_t)p.core << CORE_SHIFT | (uint64_t)p.node;
}

bool node_id_from_ino(uint64_t ino, struct node_id *ret)
{
	*ret = (struct node_id){ .node = (enum node)(ino & NODE_MASK),
				 .session = ino >> SESSION_SHIFT,
				 .core = (uint32_t)(ino >> CORE_SHIFT & 0xffffff) };
	return ret->node >= NODE_TOP && ret->node < NODE_END;
}

bool node_is_dir(enum node node)
{
	return node < NODE_FIRST_FILE;
}

const struct node_info *node_info(enum node node)
{
	assert(node >= NODE_FIRST_FILE && node < NODE_END);
	return &infos[node];
}

struct session *find_session(const struct ctlfs_state *w, uint64_t id)
{
	for (struct session *s = w->sessions; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

struct session *find_session_by_name(const struct ctlfs_state *w, const char *name, size_t len)
{
	for (struct session *s = w->sessions; s; s = s->next)
		if (s->id && str_equals((struct str){ name, len }, s->name))
			return s;
	return NULL;
}

static void put_ctl(const struct session *s, struct buf *out)
{
	buf_put_str(out, COMMAND_USAGE "\n" COMMAND_OPTIMER_USAGE "\n\n");
	session_put_status(s, out);
}

int node_put_text(struct ctlfs_state *w, struct session *s, struct node_id p, struct buf *out,
		  struct err *e)
{
	size_t core = command_core_index(&w->known, p.core);

	switch (p.node) {
	case NODE_README:
		buf_put_str(out, readme);
		return 0;
	case NODE_KPCTL:
		put_ctl(s, out);
		return 0;
	case NODE_CPU_CTL:
		buf_put_str(out, COMMAND_CORE_USAGE "\n\n");
		session_put_core_status(s, core, out);
		return 0;
	case NODE_KPTRACE:
		buf_put(out, w->journal.text.data, w->journal.text.len);
		return 0;
	case NODE_KPRINTX:
		buf_put_str(out, w->logs_commands ? "on\n" : "off\n");
		return 0;
	case NODE_MPSTAT:
		return mpstat_put(&w->mpstat, &w->known, out, e);
	case NODE_MPSTAT_RAW:
		return mpstat_put_raw(&w->mpstat, &w->known, out, e);
	case NODE_STATUS:
		session_put_status(s, out);
		return 0;
	case NODE_CPU_STATUS:
		session_put_core_status(s, core, out);
		return 0;
	case NODE_LAST_ERROR:
		journal_put_last(&w->journal, out);
		return 0;
	case NODE_ERROR_LOG:
		journal_put_errors(&w->journal, out);
		return 0;
	case NODE_MAPS:
		processes_put(&s->processes, out);
		return 0;
	default:
		return err_set(e, -EIO, "no text");
	}
}

static bool is_text(const char *text, size_t len, const char *word)
{
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' ' || text[len - 1] == '\0'))
		len--;
	return str_equals((struct str){ text, len }, word);
}

static int set_log_commands(struct ctlfs_state *w, const char *text, size_t len, struct err *e)
{
	if (is_text(text, len, "on"))
		w->logs_commands = true;
	else if (is_text(text, len, "off"))
		w->logs_commands = false;
	else if (is_text(text, len, "toggle"))
		w->logs_commands = !w->logs_commands;
	else
		return err_set(e, -EINVAL, "invalid option to Kprintx: on|off|toggle");
	return 0;
}

static int command(struct ctlfs_state *w, struct session *s, struct node_id p, const char *text,
		   size_t len, struct err *e)
{
	bool is_core = p.node == NODE_CPU_CTL;

	if (w->logs_commands)
		journal_add(&w->journal, "%s: %.*s", is_core ? "ctl" : "kpctl",
			    (int)(len && text[len - 1] == '\n' ? len - 1 : len), text);
	return session_command(s, is_core ? "ctl" : "kpctl", is_core ? (int64_t)p.core : -1, text,
			       len, e);
}

/* Writes to other files than ctl. Failures are reported in the same places as those of commands. */
static int write_other(struct ctlfs_state *w, struct session *s, struct node_id p, const char *text,
		       size_t len, struct err *e)
{
	switch (p.node) {
	case NODE_KPOPROFILE:
		return session_mark(s, text, len, e);
	case NODE_KPTRACE:
		journal_add(&w->journal, "/* %.*s */",
			    (int)(len && text[len - 1] == '\n' ? len - 1 : len), text);
		return 0;
	case NODE_KPRINTX:
		return set_log_commands(w, text, len, e);
	case NODE_MPSTAT:
	case NODE_MPSTAT_RAW:
		return mpstat_command(&w->mpstat, &w->known, text, len, e);
	case NODE_ERROR_LOG:
		journal_clear_errors(&w->journal);
		return 0;
	default:
		return err_set(e, -EBADF, "inappropriate use of fd");
	}
}

int node_write(struct ctlfs_state *w, struct session *s, struct node_id p, const char *text,
	       size_t len, struct err *e)
{
	int rc;

	if (p.node == NODE_KPCTL || p.node == NODE_CPU_CTL)
		return command(w, s, p, text, len, e);
	rc = write_other(w, s, p, text, len, e);
	if (rc < 0)
		journal_refuse(&w->journal, node_info(p.node)->name, text, len, 0, e);
	return rc;
}

uint64_t node_size(const struct ctlfs_state *w, const struct session *s, struct node_id p)
{
	switch (p.node) {
	case NODE_KPOPROFILE:
		return queue_len(&s->queue, QUEUE_ALL);
	case NODE_CPU_KPOPROFILE:
		return queue_len(&s->queue, command_core_index(&w->known, p.core));
	case NODE_KPDATA:
		return histogram_len(&s->histogram);
	default:
		return 0;
	}
}
