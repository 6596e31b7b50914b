/* SPDX-License-Identifier: MIT */
/*
 * stage: wrap the phases of a program, get a report with one row per stage.
 *
 *	struct auger_profiler *prof = auger_profiler_new(NULL);
 *	for (size_t i = 0; i < count; i++) {
 *		AUGER_STAGE(prof, "extract");
 *		extract(&files[i]); // the stage ends with the block
 *	}
 *	auger_profiler_write(prof, "results/%h.%p.jsonl");
 *	auger_profiler_close(prof);
 *
 * Stages nest to dotted labels ("outer.inner") and are added up by label. Each thread nests on its
 * own, and one report adds the threads up. A profiler that is off is NULL: every function takes
 * NULL and does nothing, and a begin or an end costs one branch.
 *
 * Nothing here ends the program, prints, or fails in a way that the caller must handle: begins and
 * ends that do not match, more stages than there is room for and lack of memory are counted in the
 * report. No function may be called from a signal handler.
 */
#ifndef AUGER_STAGE_H
#define AUGER_STAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auger_profiler; /* NULL: off */
struct auger_context;  /* a nesting of its own, for an asynchronous task; NULL: off */

enum auger_level {
	AUGER_AUTO, /* what AUGER_STAGES says: off, time or full; full when it is not set */
	AUGER_OFF,
	AUGER_TIME, /* wall time, thread CPU time where it is nearly free, heap where it is counted
		     */
	AUGER_FULL, /* also process CPU, RSS and its peak, page faults, context switches, bytes read
		     * and written: a system call or two at each begin and end */
};

/* What fork() leaves in the child, whose report starts empty in either case. */
enum auger_fork {
	AUGER_FORK_KEEP, /* open stages stay open as labels: what the child does nests in them, but
			  * they are not counted in the child. Their ends are expected. */
	AUGER_FORK_END,  /* open stages are ended: the child's stages start at the top, and an end
			  * of one that was open does nothing. */
};

/* Zero or NULL in any field is its default. */
struct auger_opts {
	size_t size; /* of this struct; AUGER_OPTS sets it, it tells old callers from new */
	enum auger_level level; /* AUGER_AUTO */
	enum auger_fork fork;   /* AUGER_FORK_KEEP */
	/*
	 * Where the report goes when the profiler is closed or the program ends, a pattern as for
	 * auger_profiler_write(), but from the folder that is the current one now: a daemon's is
	 * another one later. NULL: what AUGER_STAGES_OUT says; "": nowhere.
	 */
	const char *out;
	unsigned max_stages; /* rows; what comes after them goes to a row "other". 0: 1000 */
	unsigned max_depth;  /* stages inside each other; deeper ones are not measured. 0: 128 */
	/*
	 * The age up to which a reading of RSS is used again, in microseconds. Growth is never
	 * late: page faults tell of it; what is given back may be seen that much later.
	 * 0: 100; UINT32_MAX: read at every begin and end.
	 */
	uint32_t rss_interval_us;
	int per_thread;     /* also write the rows of each thread, under the key "threads" */
	int on_sigterm;     /* write the report on SIGTERM before the program ends. Also by
			     * AUGER_STAGES_SIGTERM=1. Starts a thread. */
	int reset_rss_peak; /* exact rss_kb_peak of every stage, by resetting the peak of the whole
			     * process (proc(5), clear_refs): others see it, such as time -v */
};

#ifndef __cplusplus
/* AUGER_OPTS(.level = AUGER_TIME, .out = "stages.jsonl"): options as an argument. */
#define AUGER_OPTS(...) (&(struct auger_opts){ .size = sizeof(struct auger_opts), __VA_ARGS__ })
#endif

/*
 * The name of a stage at one place of the program. The first begin looks its text up; later ones
 * use id. It may be static, or a part of any object that lives as long as it is used; the text is
 * copied. A text may have any bytes; more than 255 are cut off. NULL counts as an error.
 */
struct auger_name {
	const char *text;
	size_t len;  /* 0: text ends with NUL */
	uint32_t id; /* 0: not looked up yet */
};
#define AUGER_NAME(text)   \
	{                  \
		text, 0, 0 \
	}

/* One begun stage, for its end. 0: none; its end does nothing. */
typedef uint64_t auger_token;

/* The label that is open somewhere, for others to nest in. 0: the top. */
typedef uint32_t auger_path;

/* Life. */

/*
 * NULL when the level is off (errno 0), with no memory (ENOMEM), or when there are 256 profilers
 * already (EMFILE). Each may be used as a profiler that is off. opts may be NULL.
 */
struct auger_profiler *auger_profiler_new(const struct auger_opts *opts);

/* Writes to its out, if it has one, and frees it. No thread may use it any more, nor its contexts.
 */
void auger_profiler_close(struct auger_profiler *p);

/*
 * The profiler of the program: there, before main(), if AUGER_STAGES is set and not off (or
 * AUGER_STAGES_OUT is set), NULL otherwise; never closed. For libraries, which have no profiler
 * of their own: AUGER_STAGE(auger_default, "solve").
 */
extern struct auger_profiler *auger_default;

/* AUGER_OFF, AUGER_TIME or AUGER_FULL. */
enum auger_level auger_profiler_level(const struct auger_profiler *p);

/* Empties the report, so that each record of a pipeline can have its own: stages that are open
 * count from now. Times run on from now too. */
void auger_profiler_reset(struct auger_profiler *p);

/* A key of the report's top level, such as "input". value NULL takes it away. Both are copied. At
 * most 32; a key that the report has anyway is not overridden. */
void auger_profiler_set(struct auger_profiler *p, const char *key, const char *value);

/* Begin and end. */

/* These two do not look for NULL: the inline functions below do. */
auger_token auger_begin(struct auger_profiler *p, struct auger_name *name);
void auger_end(struct auger_profiler *p, auger_token token);

/*
 * Begins a stage in the calling thread, inside the one it has open. The end takes the token. Ends
 * that come out of order are errors of the stages they concern: stages that were begun later and
 * are still open are ended with it. A token that is not open in this thread (it ended already, or
 * was begun in another thread) ends nothing. Both are counted as errors.
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

/* The same by text [0..len), for names that are made at run time and for other languages. The end
 * is that of the innermost open stage of this name. */
auger_token auger_stage_begin_name(struct auger_profiler *p, const char *text, size_t len);
void auger_stage_end_name(struct auger_profiler *p, const char *text, size_t len);

/*
 * AUGER_STAGE(p, "text"); begins a stage that ends with the block, however that is left: also by
 * return, break, goto or a C++ exception. A longjmp() over it is seen at the next scope or end
 * outside of it: the stage ends there, with an error. text must be a literal.
 */
struct auger_scope {
	struct auger_profiler *profiler;
	auger_token token;
};

/* address: __builtin_frame_address(0) of the function that has the scope. */
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

/* The innermost stage that the calling thread has open. */
auger_path auger_stage_current(struct auger_profiler *p);

/* What the calling thread begins from now on with nothing open nests in this: a pool's thread
 * attaches to the stage that gave it the work, so its labels are "outer.work". 0: the top. */
void auger_thread_attach(struct auger_profiler *p, auger_path path);

/*
 * A nesting apart from that of threads, for a task that is suspended while others run: stages that
 * are begun in it nest in each other and in path, never in those of other tasks. It may be used by
 * any thread, by one at a time. Making one costs about as much as a stage. NULL: p is NULL or out
 * of memory; all three others take it.
 */
struct auger_context *auger_context_new(struct auger_profiler *p, auger_path path);

/* Ends what is open in it, with errors. Not after its profiler was closed. */
void auger_context_free(struct auger_context *c);

/*
 * Here ends may come in any order: a stage that was begun inside one that has ended, such as in a
 * generator that goes on, stays open and keeps its label.
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
	 * *ret_live: bytes now. *ret_peak: the most there were at any time since the last call, or
	 * since the source started. Called inside begins and ends, by the thread that does them,
	 * and nowhere else: not by reports, close or the end of a thread. A lock that the caller
	 * holds over each begin and end (such as Python's) is thus held here. Must not call this
	 * library. Not 0: not known now; the call concerned is left out of the columns.
	 */
	int (*read)(void *self, int64_t *ret_live, int64_t *ret_peak);
	void *self; /* lives as long as the profiler, or until another source is set */
};

/* Before the first stage is begun. NULL: none. 0, or -EINVAL for a bad name. */
int auger_profiler_source(struct auger_profiler *p, const struct auger_source *source);

/* Reports. They can be taken at any time by any thread; open stages are in them so far. */

/* The report as one JSON object, one line without its end; ends with NUL. For free(). *ret_len may
 * be NULL. NULL: out of memory, or p is NULL (errno 0). docs: auger-stage(3) lists the keys. */
char *auger_profiler_report(struct auger_profiler *p, size_t *ret_len);

/*
 * Writes the report to a file. 0 or a negative errno. The path is a pattern: %h host, %p process,
 * %r rank, %j Slurm job, %a array task, %% a percent sign; what is not known is "none", and another
 * letter stays as it is. The report is appended as one line by one write(); a FIFO must have its
 * reader. A path that ends with ".pb.gz" is replaced by a pprof
 * profile: labels as stacks; calls, wall time and what else was measured as values.
 */
int auger_profiler_write(struct auger_profiler *p, const char *path);

/* The report and a line end, to a descriptor. 0 or a negative errno. */
int auger_profiler_write_fd(struct auger_profiler *p, int fd);

#ifdef __cplusplus
}
#endif
#endif
