/* SPDX-License-Identifier: MIT */
/* remote_internal: what the files of remote share. */
#ifndef INJECT_REMOTE_INTERNAL_H
#define INJECT_REMOTE_INTERNAL_H

#include <stdbool.h>

#include "base/rows.h"
#include "inject/freeze_internal.h"
#include "inject/remote.h"
#include "inject/remote_thread.h"

#define REMOTE_NO_CALL (-3) /* nr of a row without a call */

/* One thread of the process and its call lists. */
struct remote_member {
	struct remote_thread w;
	uint64_t control;  /* address of its struct arch_control */
	struct rows apply; /* struct remote_call */
	struct rows
		apply_undo; /* struct remote_call, one for each of apply; nr REMOTE_NO_CALL: none */
	struct rows finish; /* struct remote_call */
	uint64_t apply_at;  /* address of its apply list */
	size_t applied;     /* calls of apply that were made */
	struct rows undo;   /* struct remote_call; of a spare thread, as undo of struct remote */
	bool is_spare;      /* we added it to the process */
	bool is_lost;       /* storage keeps it in a call; it ends when that returns */
	/* Addresses of the call after the stop of apply, of finish, of rollback. */
	uint64_t apply_stop, finish_stop, rollback_stop;
};

struct remote {
	struct freeze *freeze;
	pid_t pid;
	int memory;          /* /proc/PID/mem */
	struct rows members; /* struct remote_member; the first makes all steps */
	uint64_t bootstrap;  /* address of the first trampoline, in the last page of the vdso */
	unsigned char *overwritten; /* the bytes that were there; NULL: nothing is overwritten */
	uint64_t region;            /* the mapped memory; 0: none */
	size_t region_bytes;        /* pages */
	uint64_t trampolines, controls; /* addresses in region; one of each for each thread */
	uint64_t calls, calls_end;      /* unused memory for lists */
	uint64_t data, data_end;        /* unused memory for what calls point to */
	uint64_t stack;                 /* mapped, for functions; 0: none */
	uint64_t done;            /* address of the futex word for which the other threads wait */
	struct rows steps;        /* struct remote_call; of this round */
	struct rows results;      /* int64_t; of the last round */
	struct rows undo;         /* struct remote_call; of all rounds */
	struct rows rollback_end; /* struct remote_call */
	uint64_t flag;            /* address of the commit flag; 0: each thread has its own */
	size_t spares;            /* the last members: threads that we added */
	uint64_t timeout;         /* address of a timespec: how long to wait for a spare thread */
	bool spares_undo;         /* they have rollback lists of their own */
	bool is_running;          /* the first thread is in the lists */
	bool bad;                 /* out of memory or space */
};

/* Bytes from one trampoline to the next. */
size_t remote_trampoline_bytes(void);

struct remote_member *remote_member_at(const struct remote *r, size_t i);
/* e: the memory of the process cannot be read or written. Returns rc. */
int remote_memory_error(const struct remote *r, int rc, struct err *e);
int remote_write_word(struct remote *r, uint64_t at, uint64_t value, struct err *e) MUST_CHECK;

/* Bytes of r->stack, and what is saved above it. */
size_t remote_stack_bytes(void);

/* A call list while it is built. */
struct call_list {
	struct remote *r;
	struct rows calls; /* struct arch_call */
	uint64_t at;       /* address of the first */
};

struct call_list call_list_begin(struct remote *r);
uint64_t call_list_here(const struct call_list *l); /* address after the last call */
void call_list_add(struct call_list *l, const struct remote_call *call);
void call_list_add_all(struct call_list *l, const struct rows *calls);
/* Adds the calls of undo in reverse order. */
void call_list_add_reversed(struct call_list *l, const struct rows *undo, size_t count);
void call_list_stop(struct call_list *l, const struct remote_member *m);
/* Adds calls that set the int at this address from 0 to 1 and wake its waiters, or that wait for
 * it. */
void call_list_wake(struct call_list *l, uint64_t at);
void call_list_wait(struct call_list *l, uint64_t at);
/* The same, for three times r->timeout at most. */
void call_list_wait_briefly(struct call_list *l, uint64_t at);
/* Ends the list: the first thread wakes the others, which wait for it; each resumes its program, a
 * spare thread ends. */
void call_list_resume(struct call_list *l, const struct remote_member *m);
/* Writes the list into the process and frees l. */
int call_list_write(struct call_list *l, struct err *e) MUST_CHECK;

/* remote_spare.c. Adds up to count spare threads. */
int remote_make_spares(struct remote *r, size_t count, struct err *e) MUST_CHECK;
/* Runs a spare thread up to its next stop. If storage keeps it, it is lost: 0. */
int remote_run_spare(struct remote *r, struct remote_member *m, struct err *e) MUST_CHECK;
/* Ends them. False: some are lost, and still use the memory of the trampolines. */
bool remote_end_spares(struct remote *r);

/* Writes the rollback list of m again and makes it the valid one. */
int remote_write_rollback(struct remote *r, struct remote_member *m, struct err *e) MUST_CHECK;

#endif
