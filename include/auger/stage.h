/* SPDX-License-Identifier: MIT */
/*
 * stage: measures the phases of a program and reports one row per stage.
 *
 *	struct auger_profiler *prof = auger_profiler_new(NULL);
 *	for (size_t i = 0; i < count; i++) {
 *		AUGER_STAGE(prof, "extract");
 *		extract(&files[i]); // the stage ends with the block
 *	}
 *	auger_profiler_write(prof, "results/%h.%p.jsonl");
 *	auger_profiler_close(prof);
 *
 * Stages nest to dotted labels ("outer.inner") and are summed by label. Each thread nests on its
 * own, and a report sums over threads. A profiler that is off is NULL: every function accepts NULL
 * and does nothing, and a begin or an end costs one branch.
 *
 * No function exits, aborts, or fails in a way that the caller must handle. The report counts
 * mismatched begins and ends, stages over the limits, and lack of memory. No function may be called
 * from a signal handler.
 */
#ifndef AUGER_STAGE_H
#define AUGER_STAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auger_profiler; /* NULL: off */
struct auger_context;  /* the open stages of one asynchronous task; NULL: off */

enum auger_level {
	AUGER_AUTO, /* the level in AUGER_STAGES: off, time or full; full when unset */
	AUGER_OFF,
	AUGER_TIME, /* wall time, thread CPU time where it is nearly free, heap with libauger-count
		     */
	AUGER_FULL, /* also process CPU, RSS and its peak, page faults, context switches, bytes read
		     * and written: a system call or two at each begin and end */
};

/* What happens to open stages in the child of fork(); its report starts empty in either case. */
enum auger_fork {
	AUGER_FORK_KEEP, /* open stages stay open as labels: stages of the child nest in them, but
			  * the child does not count them. Their ends are expected. */
	AUGER_FORK_END,  /* open stages end: the child's stages start at the top, and the end of an
			  * open  stage does nothing. */
};

/* Zero or NULL in any field selects its default. */
struct auger_opts {
	size_t size;            /* of this struct, for compatibility; AUGER_OPTS sets it */
	enum auger_level level; /* AUGER_AUTO */
	enum auger_fork fork;   /* AUGER_FORK_KEEP */
	/*
	 * The file for the report when the profiler is closed or the program ends, a pattern as for
	 * auger_profiler_write(). A relative path starts at the current folder of
	 * auger_profiler_new(), because a daemon changes it later. NULL: the value of
	 * AUGER_STAGES_OUT; "": none.
	 */
	const char *out;
	unsigned max_stages; /* rows; further stages are counted in a row "other". 0: 1000 */
	unsigned max_depth;  /* nested stages; deeper ones are not measured. 0: 128 */
	/*
	 * The maximum age of an RSS value, in microseconds. Growth is never late, because a page
	 * fault causes a new read; freed memory may show that much later. 0: 100; UINT32_MAX: read
	 * at every begin and end.
	 */
	uint32_t rss_interval_us;
	int per_thread;     /* also write the rows of each thread, under the key "threads" */
	int on_sigterm;     /* write the report on SIGTERM, too; as AUGER_STAGES_SIGTERM=1. Starts a
			     * thread. */
	int reset_rss_peak; /* exact rss_kb_peak of every stage, by resetting the peak of the whole
			     * process (proc(5), clear_refs), which time -v and others read */
};

#ifndef __cplusplus
/* AUGER_OPTS(.level = AUGER_TIME, .out = "stages.jsonl"): options as an argument. */
#define AUGER_OPTS(...) (&(struct auger_opts){ .size = sizeof(struct auger_opts), __VA_ARGS__ })
#endif

/*
 * The name of a stage. The first begin interns its text; later ones use id. It may be static, or
 * part of an object that lives as long as it is used; the text is copied. A text may have any
 * bytes; those beyond 255 are cut. NULL counts as an error.
 */
struct auger_name {
	const char *text;
	size_t len;  /* 0: text ends with NUL */
	uint32_t id; /* 0: not interned yet */
};
#define AUGER_NAME(text)   \
	{                  \
		text, 0, 0 \
	}

/* An open stage, for its end. 0: none; its end does nothing. */
typedef uint64_t auger_token;

/* A label for others to nest in. 0: the top. */
typedef uint32_t auger_path;

/* Life. */

/*
 * NULL: the level is off (errno 0), out of memory (ENOMEM), or 256 profilers exist (EMFILE). NULL
 * is a valid profiler that is off. opts may be NULL.
 */
struct auger_profiler *auger_profiler_new(const struct auger_opts *opts);

/* Writes the report to out, if set, and frees p. No thread may use p or its contexts any more.
 */
void auger_profiler_close(struct auger_profiler *p);

/*
 * The profiler of the program: created before main() if AUGER_STAGES is set and not off, or
 * AUGER_STAGES_OUT is set; else NULL. Never closed. For libraries, which have no profiler of their
 * own: AUGER_STAGE(auger_default, "solve").
 */
extern struct auger_profiler *auger_default;

/* AUGER_OFF, AUGER_TIME or AUGER_FULL. */
enum auger_level auger_profiler_level(const struct auger_profiler *p);

/* Empties the report, so that each record of a pipeline can have its own. Open stages and total
 * times count from here. */
void auger_profiler_reset(struct auger_profiler *p);

/* Sets a top-level key of the report, such as "input". value NULL removes it. Both are copied. At
 * most 32; keys that every report has cannot be set. */
void auger_profiler_set(struct auger_profiler *p, const char *key, const char *value);

/* Begin and end. */

/* These two require p to be non-NULL; the inline functions below check it. */
auger_token auger_begin(struct auger_profiler *p, struct auger_name *name);
void auger_end(struct auger_profiler *p, auger_token token);

/*
 * Begins a stage in the calling thread, inside its innermost open stage. The end takes the token.
 * An end out of order also ends the stages inside, each as an error. A token that is not open in
 * this thread (ended already, or begun in another thread) ends nothing and counts as an error.
 */
static inline auger_token auger_stage_begin(struct auger_profiler *p, struct auger_name *name)
{
	return __builtin_expect(p != NULL, 0) ? auger_begin(p, name) : 0;
}

static inline void auger_stage_end(struct auger_profiler *p, auger_token token)
{
	if (__builtin_expect(p != NULL, 0))
		auger_end(p, token);
}

/* The same by text [0..len), for names computed at run time and for other languages. Ends the
 * innermost open stage with this name. */
auger_token auger_stage_begin_name(struct auger_profiler *p, const char *text, size_t len);
void auger_stage_end_name(struct auger_profiler *p, const char *text, size_t len);

/*
 * AUGER_STAGE(p, "text"); begins a stage that ends with the block, also by return, break, goto or a
 * C++ exception. After a longjmp() over it, the stage ends with an error at the next scope or end
 * outside of it. text must be a literal.
 */
struct auger_scope {
	struct auger_profiler *profiler;
	auger_token token;
};

/* address: __builtin_frame_address(0) of the function with the scope. */
auger_token auger_begin_scope(struct auger_profiler *p, struct auger_name *name, void *address);

static inline void auger_scope_end_(struct auger_scope *scope)
{
	auger_stage_end(scope->profiler, scope->token);
}

#define AUGER_JOIN2_(a, b) a##b
#define AUGER_JOIN_(a, b) AUGER_JOIN2_(a, b)
#define AUGER_SCOPE_(p, text, name, scope)                                                        \
	static struct auger_name name = AUGER_NAME(text);                                         \
	struct auger_scope scope __attribute__((cleanup(auger_scope_end_), unused)) = { (p), 0 }; \
	if (__builtin_expect(scope.profiler != NULL, 0))                                          \
	scope.token = auger_begin_scope(scope.profiler, &name, __builtin_frame_address(0))
#define AUGER_STAGE(p, text)                                         \
	AUGER_SCOPE_(p, text, AUGER_JOIN_(auger_name_, __COUNTER__), \
		     AUGER_JOIN_(auger_scope_, __COUNTER__))

/* Threads and tasks. */

/* The innermost open stage of the calling thread. */
auger_path auger_stage_current(struct auger_profiler *p);

/* Makes path the parent of the calling thread's outermost stages: a pool thread attaches to the
 * stage that gave it work, so its labels are "outer.work". 0: the top. */
void auger_thread_attach(struct auger_profiler *p, auger_path path);

/*
 * Creates a context for a task that is suspended while others run: its stages nest in each other
 * and in path, never in those of other tasks. Any thread may use it, one at a time. It costs about
 * as much as a stage. NULL: p is NULL, or out of memory; all functions below accept NULL.
 */
struct auger_context *auger_context_new(struct auger_profiler *p, auger_path path);

/* Ends its open stages, as errors. Must not be called after its profiler was closed. */
void auger_context_free(struct auger_context *c);

/*
 * Ends may come in any order: a stage inside an ended one, such as in a generator that goes on,
 * stays open and keeps its label.
 */
auger_token auger_context_begin(struct auger_context *c, struct auger_name *name);
void auger_context_end(struct auger_context *c, auger_token token);
auger_path auger_context_current(struct auger_context *c);

/* Memory that only the caller can count: the heap of an interpreter, a pool, a device. */

struct auger_source {
	const char *name; /* the columns are NAME_kb_delta and NAME_kb_peak_max; copied, [a-z0-9_],
			   * at most 15. "py" also makes python_memory_traced true. */
	const char *detail; /* the report's NAME_source, such as "tracemalloc"; copied */
	/*
	 * *ret_live: current bytes. *ret_peak: the maximum since the last call, or since the source
	 * started. Called only inside begins and ends, by their thread: not by reports, close or
	 * the end of a thread. So a lock that the caller holds over each begin and end (such as
	 * Python's GIL) is held. Must not call this library. Returns 0, else the values are
	 * unknown, and the columns leave this call out.
	 */
	int (*read)(void *self, int64_t *ret_live, int64_t *ret_peak);
	void *self; /* must live as long as the profiler, or until another source is set */
};

/* Call before the first stage. NULL: none. 0, or -EINVAL for a bad name. */
int auger_profiler_source(struct auger_profiler *p, const struct auger_source *source);

/* Reports. Any thread may request one at any time; open stages count up to then. */

/* The report as one JSON object without a newline, ending with NUL, for free(). ret_len may be
 * NULL. NULL: out of memory, or p is NULL (errno 0). auger-stage(3) lists the keys. */
char *auger_profiler_report(struct auger_profiler *p, size_t *ret_len);

/*
 * Writes the report to a file. 0 or a negative errno. The path is a pattern: %h host, %p process,
 * %r rank, %j job, %a array task, %% a percent sign. An unknown value is "none"; other
 * letters stay unchanged. The report is appended as one line by one write(); a FIFO needs a reader.
 * A path that ends with ".pb.gz" is replaced by a pprof profile: labels as stacks; calls, wall time
 * and other sums as values.
 */
int auger_profiler_write(struct auger_profiler *p, const char *path);

/* Writes the report and a newline to a descriptor. 0 or a negative errno. */
int auger_profiler_write_fd(struct auger_profiler *p, int fd);

#ifdef __cplusplus
}
#endif
#endif
