/* SPDX-License-Identifier: MIT */
/* inside_own: what inside.c, remote_open.c and remote_add_apply.c share, and nobody else sees. */
#ifndef INJECT_REMOTE_INTERNAL_H
#define INJECT_REMOTE_INTERNAL_H

#include <stdbool.h>

#include "base/rows.h"
#include "inject/freeze_internal.h"
#include "inject/remote.h"
#include "inject/remote_thread.h"

#define REMOTE_NO_CALL (-3) /* nr of a row that is no call */

/* A thread of the process and its lists. */
struct remote_member {
	struct remote_thread w;
	uint64_t control;       /* address of its struct arch_control */
	struct rows apply;      /* struct remote_call */
	struct rows apply_undo; /* struct remote_call, for each of go; nr -1: none */
	struct rows finish;     /* struct remote_call */
	uint64_t apply_at;      /* address of its go list */
	size_t applied;         /* calls of go that were made */
	/* Addresses of the next call when it has stopped behind go, behind finish, behind back. */
	uint64_t apply_stop, finish_stop, rollback_stop;
};

struct remote {
	struct freeze *freeze;
	pid_t pid;
	int memory;                     /* /proc/PID/mem */
	struct rows members;            /* struct member; the first makes all steps */
	uint64_t bootstrap;             /* where the first slot is: behind the vdso */
	unsigned char *overwritten;     /* [slot]: what was there; NULL: nothing is changed */
	uint64_t region;                /* 0: none */
	size_t region_bytes;            /* pages */
	uint64_t trampolines, controls; /* addresses in region; one for each thread */
	uint64_t calls, calls_end;      /* free room for lists */
	uint64_t data, data_end;        /* free room for what they point to */
	uint64_t done;                  /* address of the word that the other threads wait for */
	struct rows steps;              /* struct remote_call; of this round */
	struct rows results;            /* int64_t; of the last round */
	struct rows undo;               /* struct remote_call; of all rounds */
	struct rows rollback_end;       /* struct remote_call */
	uint64_t flag;                  /* 0: its own */
	int policy;                     /* of the first thread, as sched_getscheduler() told it */
	uint64_t priority; /* address of the sched_param for it; 0: it does not go first */
	bool is_running;   /* its registers are in the lists */
	bool bad;          /* no room or no memory */
};

/* Bytes from one slot to the next. */
size_t remote_trampoline_bytes(void);

struct remote_member *remote_member_at(const struct remote *r, size_t i);
int remote_write_word(struct remote *r, uint64_t at, uint64_t value, struct err *e) MUST_CHECK;

/* A list as the job reads it, while it is made. */
struct call_list {
	struct remote *r;
	struct rows calls; /* struct arch_call */
	uint64_t at;       /* address of the first */
};

struct call_list call_list_begin(struct remote *r);
uint64_t call_list_here(const struct call_list *l); /* the address behind the last call */
void call_list_add(struct call_list *l, const struct remote_call *call);
void call_list_add_all(struct call_list *l, const struct rows *calls);
/* The calls of undo, the last first. */
void call_list_add_reversed(struct call_list *l, const struct rows *undo, size_t count);
void call_list_stop(struct call_list *l, const struct remote_member *m);
/* Sets the int at this address from 0 to 1, or waits until it is. */
void call_list_wake(struct call_list *l, uint64_t at);
void call_list_wait(struct call_list *l, uint64_t at);
/* Home: the member that did the work tells the others, which waited for it. */
void call_list_resume(struct call_list *l, const struct remote_member *m);
/* Into the memory of the job; frees l. */
int call_list_write(struct call_list *l, struct err *e) MUST_CHECK;

/* inside_first.c: the first thread goes before all others of the machine while it makes calls for
 * us; its lists end with a call that takes this back, so that it does not hang on us. */
void remote_plan_priority(struct remote *r);
void remote_raise_priority(const struct remote *r);
void remote_restore_priority(const struct remote *r);

/* Writes the way back of m anew and makes it the one that counts. */
int remote_write_rollback(struct remote *r, struct remote_member *m, struct err *e) MUST_CHECK;

#endif
