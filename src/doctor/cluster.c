/* SPDX-License-Identifier: MIT */
/* Checks of cluster software: Slurm, PMIx, libfabric. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checks.h"

void doctor_slurm(struct doctor_finding *f)
{
	static const char *const ping[] = { "scontrol", "ping", NULL };
	static const char *const sacct[] = { "sacct", "-n", "-X", "-j", "1", "-o", "JobID", NULL };
	const char *job = getenv("SLURM_JOB_ID");
	char text[512];
	int rc;

	if (!doctor_has_program("scontrol")) {
		doctor_report(f, DOCTOR_FAILS,
			      "'apt-get install slurm-client' on a machine of a cluster",
			      "no scontrol on the PATH");
		return;
	}
	rc = doctor_run(ping, text, sizeof text);
	if (rc != 0 || !strstr(text, " UP")) {
		doctor_report(
			f, DOCTOR_FAILS, "start slurmctld, or let slurm.conf name where it runs",
			"scontrol ping: %s", rc < 0 ? "no answer in 5 s" : "no slurmctld answers");
		return;
	}
	rc = doctor_run(sacct, text, sizeof text);
	if (rc != 0)
		doctor_report(
			f, DOCTOR_PARTLY,
			"start slurmdbd, and set AccountingStorageType=accounting_storage/slurmdbd",
			"slurmctld answers, but sacct %s",
			rc < 0 ? "gives no answer in 5 s" : "has no accounting");
	else if (job)
		doctor_report(f, DOCTOR_WORKS, "", "slurmctld and sacct answer; this is job %s",
			      job);
	else
		doctor_report(f, DOCTOR_WORKS, "", "slurmctld and sacct answer; this is no job");
}

/* As its users find it: auger is not linked against it. A program that is linked statically as a
 * whole opens a library only where the C library is the one it was linked with. */
static int load(const char *name)
{
	void *library;

	errno = 0;
	library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return errno == ENOMEM ? ENOMEM : EINVAL;
	dlclose(library);
	return 0;
}

static int load_pmix(void)
{
	return load("libpmix.so.2");
}

static int load_libfabric(void)
{
	return load("libfabric.so.1");
}

/* Loading runs foreign code, so a child does it. */
static bool loads(int (*call)(void), struct doctor_finding *f)
{
	int rc = doctor_run_child(call);

	f->bad = rc == ENOMEM;
	return rc == 0;
}

void doctor_pmix(struct doctor_finding *f)
{
	const char *space = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");

	if (!loads(load_pmix, f))
		doctor_report(f, DOCTOR_FAILS, "'apt-get install libpmix2' on Debian",
			      "libpmix.so.2 does not load");
	else if (space && rank)
		doctor_report(f, DOCTOR_WORKS, "", "this is rank %s of %s", rank, space);
	else
		doctor_report(f, DOCTOR_PARTLY, "start by 'srun --mpi=pmix', 'prun' or 'mpirun'",
			      "libpmix.so.2 loads, but no launcher started us as a rank");
}

/* Collects the names at line starts, "tcp:", as "tcp udp". */
static void list_providers(const char *text, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t name = strcspn(at, ":\n");

		if (at[0] == ' ' || at[name] != ':' || name == 0 || len + name + 2 > size)
			continue;
		len += (size_t)snprintf(ret + len, size - len, "%s%.*s", len ? " " : "", (int)name,
					at);
	}
}

void doctor_libfabric(struct doctor_finding *f)
{
	static const char *const list[] = { "fi_info", "-l", NULL };
	char text[4096], names[200];

	if (!loads(load_libfabric, f)) {
		doctor_report(f, DOCTOR_FAILS, "'apt-get install libfabric1' on Debian",
			      "libfabric.so.1 does not load");
		return;
	}
	if (doctor_run(list, text, sizeof text) != 0) {
		doctor_report(f, DOCTOR_PARTLY, "'apt-get install libfabric-bin' on Debian",
			      "libfabric.so.1 loads, but fi_info does not list its providers");
		return;
	}
	list_providers(text, names, sizeof names);
	doctor_report(f, DOCTOR_WORKS, "", "providers: %s", names);
}
