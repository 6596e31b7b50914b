/* SPDX-License-Identifier: MIT */
#include "cachejob/launcher.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/quote.h"

const char *const launcher_kinds[] = { "auto", "slurm", "openmpi", "mpich", "ssh", NULL };

void words_fini(struct words *w)
{
	buf_fini(&w->text);
	w->count = 0;
}

void words_add(struct words *w, const char *word)
{
	buf_put(&w->text, word, strlen(word) + 1);
	w->count += buf_error(&w->text) == 0;
}

void words_addf(struct words *w, const char *fmt, ...)
{
	CLEANUP(buf_fini) struct buf word = { 0 };
	char text[1024];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (len < (int)sizeof text) {
		words_add(w, text);
		return;
	}
	va_start(args, fmt);
	if (buf_reserve(&word, (size_t)len + 1) &&
	    vsnprintf(word.data, (size_t)len + 1, fmt, args) == len)
		words_add(w, word.data);
	else
		w->text.bad = true;
	va_end(args);
}

void words_add_all(struct words *w, const struct words *other)
{
	w->text.bad |= other->text.bad;
	buf_put(&w->text, other->text.data, other->text.len);
	if (buf_error(&w->text) == 0)
		w->count += other->count;
}

char **words_argv(const struct words *w)
{
	char **argv = buf_error(&w->text) < 0 ? NULL : calloc(w->count + 1, sizeof *argv);
	char *at = w->text.data;

	for (size_t i = 0; argv && i < w->count; i++, at += strlen(at) + 1)
		argv[i] = at;
	return argv;
}

void words_quote(const struct words *w, struct buf *out)
{
	const char *at = w->text.data;

	out->bad |= w->text.bad;
	for (size_t i = 0; i < w->count && buf_error(&w->text) == 0; i++, at += strlen(at) + 1) {
		if (i)
			buf_put_byte(out, ' ');
		quote_argument(out, at);
	}
}

static int read_hosts(const struct launcher_opts *o, struct launcher *l, struct err *e)
{
	const char *file = o->host_file;
	int rc;

	if (o->hosts) {
		rc = hosts_parse(&l->hosts, o->hosts, e);
		snprintf(l->found, sizeof l->found, "the hosts named");
	} else {
		if (!file)
			file = getenv("PBS_NODEFILE");
		if (!file)
			return err_set(e, -ENOENT,
				       "no allocation of Slurm or PBS here; name the "
				       "hosts: --hosts A,B or --host-file FILE");
		rc = hosts_read(&l->hosts, file, e);
		snprintf(l->found, sizeof l->found, "%s %.90s",
			 o->host_file ? "the hosts in" : "PBS,", file);
	}
	if (rc == 0 && !l->hosts.count)
		rc = err_set(e, -EINVAL, "there is no host in the list");
	l->nodes = (uint32_t)l->hosts.count;
	return rc;
}

/* Source: srun(1), sbatch(1), output environment variables. */
static int read_slurm(struct launcher *l, struct err *e)
{
	const char *job = getenv("SLURM_JOB_ID"), *nodes = getenv("SLURM_JOB_NUM_NODES");
	uint64_t count = 0, number;

	if (!nodes)
		nodes = getenv("SLURM_NNODES");
	if (!job)
		return err_set(e, -ENOENT, "no allocation of Slurm here: SLURM_JOB_ID is not set");
	if (number_parse(job, strlen(job), &number) != strlen(job) || strlen(job) >= sizeof l->job)
		return err_set(e, -EINVAL, "SLURM_JOB_ID is no number: '%.80s'", job);
	if (!nodes || number_parse(nodes, strlen(nodes), &count) != strlen(nodes) || !count ||
	    count > UINT32_MAX)
		return err_set(e, -EINVAL, "SLURM_JOB_NUM_NODES is no number of nodes");
	strcpy(l->job, job);
	l->nodes = (uint32_t)count;
	snprintf(l->found, sizeof l->found, "Slurm, job %s", job);
	return 0;
}

int launcher_find(const struct launcher_opts *o, struct launcher *ret, struct err *e)
{
	struct launcher l = { .kind = o->kind };
	bool has_hosts = o->hosts || o->host_file;
	int rc;

	if (l.kind == LAUNCHER_AUTO)
		l.kind = !has_hosts && getenv("SLURM_JOB_ID") ? LAUNCHER_SLURM : LAUNCHER_SSH;
	if (o->hosts && o->host_file)
		return err_usage(e, "--hosts and --host-file exclude each other");
	if (l.kind == LAUNCHER_SLURM && has_hosts)
		return err_usage(e, "Slurm has its own hosts: --hosts is not for it");
	snprintf(l.rsh, sizeof l.rsh, "%s", o->rsh ? o->rsh : "ssh -o BatchMode=yes");
	rc = l.kind == LAUNCHER_SLURM ? read_slurm(&l, e) : read_hosts(o, &l, e);
	if (rc < 0) {
		launcher_fini(&l);
		return rc;
	}
	*ret = l;
	return 0;
}

void launcher_fini(struct launcher *l)
{
	hosts_fini(&l->hosts);
}

bool launcher_is_collective(const struct launcher *l)
{
	return l->kind != LAUNCHER_SSH;
}

static void put_hosts(const struct launcher *l, struct words *ret)
{
	CLEANUP(buf_fini) struct buf list = { 0 };

	for (size_t i = 0; i < l->hosts.count; i++)
		buf_printf(&list, "%s%s", i ? "," : "", l->hosts.names[i]);
	words_add(ret, list.data ? list.data : "");
	ret->text.bad |= list.bad;
}

/* A step that ends on one node must not end the others. Source: srun(1), Slurm 22.05. */
static void put_srun(const struct launcher *l, struct words *ret)
{
	words_add(ret, "srun");
	words_addf(ret, "--jobid=%s", l->job);
	words_addf(ret, "--nodes=%u", l->nodes);
	words_addf(ret, "--ntasks=%u", l->nodes);
	words_add(ret, "--ntasks-per-node=1");
	words_add(ret, "--overlap");
	words_add(ret, "--kill-on-bad-exit=0");
	words_add(ret, "--mpi=none");
	words_add(ret, "--input=none");
}

/* Source: mpirun(1) of Open MPI 4.1. */
static void put_openmpi(const struct launcher *l, struct words *ret)
{
	words_add(ret, "mpirun");
	if (geteuid() == 0)
		words_add(ret, "--allow-run-as-root");
	words_add(ret, "--enable-recovery");
	words_add(ret, "--map-by");
	words_add(ret, "ppr:1:node");
	words_add(ret, "-n");
	words_addf(ret, "%u", l->nodes);
	words_add(ret, "--host");
	put_hosts(l, ret);
}

/* Source: mpiexec(1) of MPICH 4.0 (hydra). */
static void put_mpich(const struct launcher *l, struct words *ret)
{
	words_add(ret, "mpiexec.hydra");
	words_add(ret, "-disable-auto-cleanup");
	words_add(ret, "-ppn");
	words_add(ret, "1");
	words_add(ret, "-n");
	words_addf(ret, "%u", l->nodes);
	words_add(ret, "-hosts");
	put_hosts(l, ret);
}

/* The shell of the other host gets one word. */
static void put_ssh(const struct launcher *l, uint32_t i, const struct words *command,
		    struct words *ret)
{
	CLEANUP(buf_fini) struct buf line = { 0 };
	const char *at = l->rsh;

	while (*at) {
		size_t len = strcspn(at, " ");

		if (len)
			words_addf(ret, "%.*s", (int)len, at);
		at += len + (at[len] == ' ');
	}
	words_add(ret, l->hosts.names[i]);
	words_quote(command, &line);
	words_add(ret, line.data ? line.data : "");
	ret->text.bad |= line.bad || command->text.bad;
}

void launcher_put(const struct launcher *l, uint32_t i, const struct words *command,
		  struct words *ret)
{
	switch (l->kind) {
	case LAUNCHER_SLURM:
		put_srun(l, ret);
		break;
	case LAUNCHER_OPENMPI:
		put_openmpi(l, ret);
		break;
	case LAUNCHER_MPICH:
		put_mpich(l, ret);
		break;
	case LAUNCHER_AUTO:
	case LAUNCHER_SSH:
		put_ssh(l, i, command, ret);
		return;
	}
	words_add_all(ret, command);
}
