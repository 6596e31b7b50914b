/* SPDX-License-Identifier: MIT */
#include "view/activity.h"

#include <errno.h>

#include "base/map.h"

#include "tap.h"

/* A stack, and the class of its time. */
struct row {
	const char *stack; /* "function@file;function@file", outermost first */
	const char *class;
};

/* As real programs have them: Open MPI and MPICH, libgomp without symbols, glibc, Linux. */
static const struct row rows[] = {
	{ "main@app;solve@app", "compute" },
	{ "", "compute" },
	{ "main@app;solve@app;PMPI_Allreduce@libmpi.so.40;opal_progress@libopen-pal.so.40;poll@libc.so.6",
	  "mpi.collective" },
	{ "main@app;solve_@app;mpi_allreduce_@libmpi_mpifh.so.40;x@libmpi.so.40",
	  "mpi.collective" },
	{ "main@app;MPI_Isend@libmpich.so.12;MPID_Isend@libmpich.so.12", "mpi.p2p" },
	{ "main@app;MPI_Waitall@libmpich.so.12", "mpi.wait" },
	{ "main@app;MPI_Init_thread@libmpi.so.40;dlopen@libc.so.6;_dl_open@ld-linux-x86-64.so.2",
	  "mpi.init" },
	{ "main@app;MPI_File_write_at_all@libmpi.so.40;write@libc.so.6;ksys_write@[kernel.kallsyms]",
	  "mpi.io" },
	{ "main@app;MPI_Comm_rank@libmpi.so.40", "mpi.other" },
	{ "progress_thread@libopen-pal.so.40;epoll_wait@libc.so.6", "compute" },
	{ "clone@libc.so.6;progress@libopen-pal.so.40", "mpi.other" },
	{ "main@app;MPI_helper@app", "compute" },
	{ "main@app;MPI_Iallreduce@libmpi.so.40", "mpi.collective" },
	{ "main@app;mympi_sendall@app", "compute" },
	{ "main@app;GOMP_parallel@libgomp.so.1;kernel@app", "compute" },
	{ "clone@libc.so.6;@libgomp.so.1.0.0", "openmp.wait" },
	{ "clone@libc.so.6;__kmp_hyper_barrier_release(barrier_type, int)@libomp.so.5",
	  "openmp.wait" },
	{ "main@app;pthread_mutex_lock@libc.so.6;__lll_lock_wait@libc.so.6;do_futex@[kernel.kallsyms]",
	  "lock" },
	{ "main@app;std::mutex::lock()@app", "lock" },
	{ "main@app;read@libc.so.6;__x64_sys_read@[kernel.kallsyms];ext4_file_read_iter@[ext4]",
	  "io.file" },
	{ "main@app;read@app", "compute" },
	{ "main@app;write@libc.so.6;ksys_write@[kernel.kallsyms];tcp_sendmsg@[kernel.kallsyms]",
	  "io.network" },
	{ "main@app;__libc_malloc@libc.so.6;_int_malloc@libc.so.6", "memory" },
	{ "main@app;_int_free@libc.so.6", "memory" },
	{ "main@app;operator new(unsigned long)@libstdc++.so.6", "memory" },
	{ "main@app;fill@app;asm_exc_page_fault@[kernel.kallsyms];handle_mm_fault@[kernel.kallsyms]",
	  "pagefault" },
	{ "_start@ld-linux-x86-64.so.2;_dl_relocate_object@ld-linux-x86-64.so.2", "startup" },
	{ "main@python3.11;f@run.py;_PyEval_EvalFrameDefault@python3.11", "interpreter" },
	{ "main@python3.11;f@/home/a/run.py", "interpreter" },
	{ "main@python3.11;f@run.py;dgemm_kernel@libopenblas.so.0", "compute" },
	{ "f@app;cudaStreamSynchronize@libcudart.so.12;x@libcuda.so.1;poll@libc.so.6", "gpu" },
	{ "do_idle@[kernel.kallsyms]", "idle" },
};

/* Pushes "function@file" frames. */
static uint32_t push_stack(struct profile *p, const char *text)
{
	char copy[400], *rest = copy;
	uint32_t node = 0;

	snprintf(copy, sizeof copy, "%s", text);
	for (char *frame; *copy && (frame = strsep(&rest, ";"));) {
		char *file = strrchr(frame, '@');
		struct mapping m = { 0 };
		struct function f = { 0 };
		struct line line = { 0 };
		struct location l = { .lines = &line, .line_count = 1 };

		*file++ = '\0';
		m.path = profile_str(p, file);
		f.name = profile_str(p, frame);
		line.function = profile_add_function(p, &f);
		l.mapping = profile_add_mapping(p, &m);
		node = profile_push(p, node, profile_add_location(p, &l));
	}
	return node;
}

static struct profile *make(const struct row *list, size_t count)
{
	struct profile *p = profile_new();
	struct label label = { .key = profile_str(p, "row") };

	profile_add_type(p, "cpu", "nanoseconds");
	for (size_t i = 0; i < count; i++) {
		int64_t value = (int64_t)i + 1;

		label.str = 0;
		label.num = (int64_t)i;
		profile_add(p, push_stack(p, list[i].stack), profile_add_labels(p, &label, 1),
			    &value);
	}
	return p;
}

static void test_ours(void)
{
	CLEANUP(activity_fini) struct activity rules = { 0 };
	struct profile *p = make(rows, sizeof rows / sizeof rows[0]);
	struct err e = { 0 };

	if (!CHECK_INT(activity_add_ours(&rules, &e), 0))
		fprintf(stderr, "%s\n", e.msg);
	CHECK_INT(profile_label_activities(&p, &rules, &e), 0);
	CHECK_INT(profile_sample_count(p), sizeof rows / sizeof rows[0]);
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		const struct label *class = profile_find_label(p, s.labels, ACTIVITY_LABEL);
		const struct label *row = profile_find_label(p, s.labels, "row");

		if (CHECK(class && row) &&
		    !CHECK_STR(profile_text(p, class->str), rows[row->num].class))
			fprintf(stderr, "%s\n", rows[row->num].stack);
	}
	profile_free(p);
}

static void test_sums(void)
{
	static const struct row few[] = { { "a@app", "" }, { "b@app", "" }, { "a@lib", "" } };
	static const char text[] = "# x\n\nmine\tstack b*c|*A|x app\r\n  other leaf * l?b";
	CLEANUP(activity_fini) struct activity rules = { 0 };
	CLEANUP(rows_fini) struct rows sums = { 0 };
	struct profile *p = make(few, 3);
	struct err e = { 0 };
	const struct activity_sum *sum;

	CHECK_INT(activity_add(&rules, text, sizeof text - 1, "x", &e), 0);
	CHECK_INT(activity_sum(p, &rules, 0, &sums, &e), 0);
	sum = sums.data;
	if (CHECK_INT(sums.count, 3)) {
		CHECK_STR(sum[0].family, "other");
		CHECK_STR(sum[1].family, "compute");
		CHECK_STR(sum[2].family, "mine");
		CHECK_INT(sum[0].value, 3);
	}
	profile_free(p);
}

/* Stacks of value 1, 2, ...: the call of MPI that most is spent in. */
static void test_calls(void)
{
	static const struct {
		struct row stacks[3];
		const char *operation, *caller;
		int64_t value, call_value; /* of the family */
	} cases[] = {
		{ { { "main@app;solve@app;PMPI_Allreduce@libmpi.so.40;PMPI_Send@libmpi.so.40", "" },
		    { "main@app;solve@app;PMPI_Allreduce@libmpi.so.40;poll@libc.so.6", "" },
		    { "main@app;f@app", "" } },
		  "PMPI_Allreduce",
		  "solve",
		  3,
		  3 },
		{ { { "main@app;MPI_Send@libmpi.so.40", "" },
		    { "main@app;x_@app;mpi_recv_@libmpi_mpifh.so.40;PMPI_Recv@libmpi.so.40", "" },
		    { "clone@libc.so.6;progress@libopen-pal.so.40", "" } },
		  "mpi_recv_",
		  "x_",
		  6,
		  2 },
		{ { { "main@python3.11;run@/a/run.py;call@python3.11;__pyx_pw_Bcast@MPI.cpython-311-x86_64-linux-gnu.so;PMPI_Bcast@libmpich.so.12",
		      "" },
		    { "PMPI_Init@libmpich.so.12", "" },
		    { "PMPI_Init@libmpich.so.12;x@libmpich.so.12", "" } },
		  "PMPI_Init",
		  "",
		  6,
		  5 },
		{ { { "main@python3.11;run@/a/run.py;call@python3.11;__pyx_pw_Bcast@MPI.cpython-311-x86_64-linux-gnu.so;PMPI_Bcast@libmpich.so.12",
		      "" },
		    { "f@app", "" },
		    { "g@app", "" } },
		  "PMPI_Bcast",
		  "run",
		  1,
		  1 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		CLEANUP(activity_fini) struct activity rules = { 0 };
		CLEANUP(rows_fini) struct rows sums = { 0 };
		struct profile *p = make(cases[i].stacks, 3);
		const struct activity_sum *sum;
		struct err e = { 0 };
		size_t at = 0;

		CHECK_INT(activity_add_ours(&rules, &e), 0);
		CHECK_INT(activity_sum(p, &rules, 0, &sums, &e), 0);
		sum = sums.data;
		while (at + 1 < sums.count && strcmp(sum[at].family, ACTIVITY_MPI) != 0)
			at++;
		if (CHECK(sums.count > at)) {
			CHECK_INT(sum[at].value, cases[i].value);
			CHECK_INT(sum[at].call_value, cases[i].call_value);
			CHECK_STR(profile_text(p, profile_get_function(p, sum[at].operation)->name),
				  cases[i].operation);
			CHECK_STR(profile_text(p, profile_get_function(p, sum[at].caller)->name),
				  cases[i].caller);
		}
		profile_free(p);
	}
}

static void test_names(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	activity_put_name(&out, "PMPI_Send");
	activity_put_name(&out, " mpi_recv_");
	activity_put_name(&out, "__libc_read(int)");
	CHECK_STR(out.data, "MPI_Send mpi_recvread");
}

static void add_time(struct profile *p, size_t sample, uint64_t time_ns)
{
	struct sample s = profile_get_sample(p, sample);
	struct timed_value v = { .node = s.node, .labels = s.labels, .value = s.values[0] };

	CHECK_INT(sample_times_add(profile_times(p), time_ns, &v), 0);
}

/* Two threads in one class, one of them in another, too: values stay where and when they were. */
static void test_times(void)
{
	static const struct row few[] = { { "main@app;MPI_Send@libmpi.so.40", "" },
					  { "main@app;f@app", "" },
					  { "main@app;MPI_Send@libmpi.so.40", "" } };
	static const char *const classes[] = { "mpi.p2p", "compute", "mpi.p2p" };
	CLEANUP(activity_fini) struct activity rules = { 0 };
	struct profile *p = make(few, 3);
	const struct sample_times *t;
	struct err e = { 0 };

	for (size_t i = 0; i < 3; i++)
		add_time(p, i, i * SAMPLE_TIMES_FIRST_BUCKET_NS);
	CHECK_INT(activity_add_ours(&rules, &e), 0);
	CHECK_INT(profile_label_activities(&p, &rules, &e), 0);
	t = profile_get_times(p);
	CHECK_INT(t->bucket_ns, SAMPLE_TIMES_FIRST_BUCKET_NS);
	CHECK_INT(t->entries.count, 3);
	for (size_t i = 0; i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		const struct label *class = profile_find_label(p, v->labels, ACTIVITY_LABEL);

		CHECK_INT(v->value, v->bucket + 1);
		CHECK(profile_find_sample(p, v->node, v->labels) != MAP_NONE);
		if (CHECK(class != NULL))
			CHECK_STR(profile_text(p, class->str), classes[v->bucket]);
	}
	profile_free(p);
}

static void test_bad_rules(void)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "a stack", "x: line 1: not CLASS, WHERE, NAMES and, if wanted, MODULES" },
		{ "a leaf b c d", "x: line 1: not CLASS, WHERE, NAMES and, if wanted, MODULES" },
		{ "a leaf b\nc root d", "x: line 2: 'root' is neither stack nor leaf" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		CLEANUP(activity_fini) struct activity rules = { 0 };
		struct err e = { 0 };

		CHECK_INT(activity_add(&rules, bad[i].text, strlen(bad[i].text), "x", &e), -EINVAL);
		CHECK_STR(e.msg, bad[i].message);
	}
}

int main(void)
{
	TAP_CASE(test_ours);
	TAP_CASE(test_sums);
	TAP_CASE(test_calls);
	TAP_CASE(test_names);
	TAP_CASE(test_times);
	TAP_CASE(test_bad_rules);
	return tap_done();
}
