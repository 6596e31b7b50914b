/* SPDX-License-Identifier: MIT */
#include "cli/cache/launch_opts.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmd.h"

/* clang-format off */
#define VALUE(i, s, name, metavar, help) \
	OPT_STR(s, name, metavar, struct launch_args, values[i], help)
#define FLAG(i, name, help) \
	OPT_FLAG(0, name, struct launch_args, flags[i], help)

const struct opt launch_opts[] = {
	OPT_STR('t', "target", "DIR", struct launch_args, target,
		"Serve the files of DIR [default /]"),
	OPT_STR('j', "job-dir", "JOBDIR", struct launch_args, job,
		"Meet, and write logs and profiles, in JOBDIR [default auger-cache-JOB here]"),
	OPT_CHOICE(0, "launcher", "auto|slurm|openmpi|mpich|ssh", struct launch_args, launcher,
		   launcher_kinds, "Start the nodes by this launcher [default auto]"),
	OPT_STR(0, "hosts", "A,B", struct launch_args, hosts, "Start them on these hosts"),
	OPT_STR(0, "host-file", "FILE", struct launch_args, host_file,
		"Start them on the hosts in FILE, a name a line"),
	OPT_STR(0, "rsh", "COMMAND", struct launch_args, rsh,
		"Reach a host by COMMAND HOST [default ssh -o BatchMode=yes]"),
	OPT_STR(0, "cpus", "LIST", struct launch_args, cpus, "Bind the daemons to these CPUs"),
	OPT_FLAG(0, "per-node", struct launch_args, is_per_node,
		 "Start one daemon a node [always]"),
	OPT_FLAG(0, "dry-run", struct launch_args, is_dry_run,
		 "Print the commands, and start nothing"),
	OPT_UINT(0, "timeout", "SECONDS", struct launch_args, timeout_s, 1, 86400,
		 "Wait SECONDS for the views [default 120]"),
	OPT_LIST(0, "shared", "PATH", struct launch_args, shared,
		 "Take PATH as the same on all nodes; again for more"),
	VALUE(0, 'b', "budget", "SIZE", "Use at most SIZE bytes of memory on each node"),
	VALUE(1, 0, "max-file", "SIZE", "Do not cache the data of files of SIZE bytes or more"),
	VALUE(2, 0, "revalidate", "SECONDS", "Expire what was cached after SECONDS"),
	VALUE(3, 0, "enoent-ttl", "MS", "Expire a negative entry after MS ms [default 2000]"),
	VALUE(4, 0, "storage-timeout", "SECONDS", "Fail what storage does not answer in SECONDS"),
	VALUE(5, 0, "threads", "N", "Serve requests with N threads on each node"),
	VALUE(6, 0, "prefetch", "LIST", "Load the paths in LIST first, on each node"),
	VALUE(7, 0, "profile-top", "N", "Add the N paths with most events to the profiles"),
	VALUE(8, 0, "profile-interval", "SECONDS", "Write the profiles every SECONDS, too"),
	VALUE(9, 0, "log-level", "N", "Log up to level N: 1 fatal to 5 debug"),
	VALUE(10, 0, "transport", "auto|tcp|ofi", "Send messages by this transport"),
	VALUE(11, 0, "listen", "ADDR", "Listen on this interface, or address, of each node"),
	VALUE(12, 0, "trees", "N", "Let N nodes read storage, each a part [default 4]"),
	VALUE(13, 0, "join-timeout", "SECONDS", "Let nodes wait SECONDS for one another"),
	VALUE(14, 0, "rights", "auto|modes|storage", "Check rights by modes, or ask storage"),
	FLAG(0, "profile", "Write a profile of all operations on each node"),
	FLAG(1, "profile-paths", "Add all paths to the profiles; implies --exact"),
	FLAG(2, "exact", "Turn off the kernel's caching, so that every call is a request"),
	FLAG(3, "passthrough", "Let the kernel read cached files itself (root)"),
	FLAG(4, "allow-other", "Admit all users (root)"),
	FLAG(5, "copper-files", "Write all files of Copper (cu_fuse), not just two"),
	OPT_END,
};
/* clang-format on */

/* Options of Copper's launchers (launch_copper_*.sh) that are spelled otherwise here. */
static const struct copper_word {
	const char *theirs, *ours; /* ours NULL: ignored */
	bool has_value;
} copper_words[] = {
	{ "-l", "--log-level", true },
	{ "-d", "--job-dir", true },
	{ "-T", "--trees", true },
	{ "-M", "--max-file", true },
	{ "-E", "--enoent-ttl", true },
	{ "-P", "--profile", false },
	{ "-N", "--profile-top", true },
	{ "-A", "--profile-paths", false },
	{ "-I", "--profile-interval", true },
	{ "-s", NULL, true },
	{ "-F", NULL, true },
	{ "-a", NULL, true },
};

static const struct copper_word *find(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(copper_words); i++)
		if (strcmp(copper_words[i].theirs, word) == 0)
			return &copper_words[i];
	return NULL;
}

/* The two that mean something else here: a type of log, and CPUs. */
static const char *translate_value(const char *word, const char *value)
{
	static const char *const types[] = { "file", "stdout", "both", "file_and_stdout" };

	for (size_t i = 0; i < ARRAY_LEN(types) && strcmp(word, "-t") == 0; i++)
		if (strcmp(value, types[i]) == 0)
			return NULL; /* a log is always a file: the nodes have no terminal */
	if (strcmp(word, "-b") == 0 && value[strcspn(value, ",-")])
		return "--cpus";
	return word;
}

static int put(struct launch_args *args, const char *word)
{
	args->words[args->word_count] = strdup(word);
	return args->words[args->word_count++] ? 0 : -1;
}

/* Two words: an option of one letter, and its value. */
static int put_pair(struct launch_args *args, const char *word, const char *value)
{
	const struct copper_word *copper = find(word);
	const char *ours = copper ? copper->ours : translate_value(word, value);

	if (!ours) {
		log_msg(LOG_INFO, "cache", "%s %s is ignored", word, value);
		return 0;
	}
	return put(args, ours) < 0 ? -1 : put(args, value);
}

static int translate(int argc, char **argv, struct launch_args *args, struct err *e)
{
	args->words = calloc((size_t)argc + 1, sizeof *args->words);
	if (!args->words)
		return err_nomem(e);
	for (int i = 0; i < argc; i++) {
		const struct copper_word *copper = i ? find(argv[i]) : NULL;
		bool is_pair = i && ((copper && copper->has_value) || strcmp(argv[i], "-t") == 0 ||
				     strcmp(argv[i], "-b") == 0);
		int rc;

		if (is_pair && i + 1 == argc)
			return err_usage(e, "option '%s' needs a value", argv[i]);
		if (is_pair) {
			rc = put_pair(args, argv[i], argv[i + 1]);
			i++;
		} else {
			rc = put(args, copper ? copper->ours : argv[i]);
		}
		if (rc < 0)
			return err_nomem(e);
	}
	return 0;
}

int launch_opts_parse(int argc, char **argv, struct launch_args *args, const char **ret_view,
		      struct err *e)
{
	int first, rc;

	*args = (struct launch_args){ .timeout_s = 120 };
	rc = translate(argc, argv, args, e);
	if (rc == 0)
		rc = cmd_parse(&cmd_cache_launch, args, args->word_count, args->words, &first, e);
	if (rc < 0)
		return rc;
	if (args->word_count != first + 1)
		return err_usage(e, "name one folder, the view");
	*ret_view = args->words[first];
	return 0;
}

void launch_opts_fini(struct launch_args *args)
{
	for (int i = 0; i < args->word_count; i++)
		free(args->words[i]);
	free(args->words);
	args->words = NULL;
}

void launch_opts_put(const struct launch_args *args, struct words *ret)
{
	for (const struct opt *o = launch_opts; o->kind != OPT_KIND_END; o++) {
		size_t at = o->offset;

		if (at >= offsetof(struct launch_args, values) &&
		    at < offsetof(struct launch_args, flags)) {
			const char *value =
				args->values[(at - offsetof(struct launch_args, values)) /
					     sizeof value];

			if (value)
				words_addf(ret, "--%s=%s", o->long_name, value);
		} else if (at >= offsetof(struct launch_args, flags) &&
			   args->flags[at - offsetof(struct launch_args, flags)]) {
			words_addf(ret, "--%s", o->long_name);
		}
	}
	for (size_t i = 0; i < args->shared.count; i++)
		words_addf(ret, "--shared=%s", args->shared.items[i]);
}
