/* SPDX-License-Identifier: MIT */
/* inside_own: what inside.c, inside_open.c and inside_go.c share, and nobody else sees. */
#ifndef INJECT_INSIDE_INTERNAL_H
#define INJECT_INSIDE_INTERNAL_H

#include <stdbool.h>

#include "base/rows.h"
#include "inject/hold_internal.h"
#include "inject/inside.h"
#include "inject/worker.h"

#define INSIDE_NONE (-3) /* nr of a row that is no call */

/* A thread of the process and its lists. */
struct member {
	struct worker w;
	uint64_t head;       /* address of its struct arch_head */
	struct rows go;      /* struct inside_call */
	struct rows go_undo; /* struct inside_call, for each of go; nr -1: none */
	struct rows finish;  /* struct inside_call */
	uint64_t go_at;      /* address of its go list */
	size_t gone;         /* calls of go that were made */
	/* Addresses of the next call when it has stopped behind go, behind finish, behind back. */
	uint64_t go_stop, finish_stop, back_stop;
};

struct inside {
	struct hold *hold;
	pid_t pid;
	int memory;                /* /proc/PID/mem */
	struct rows members;       /* struct member; the first makes all steps */
	uint64_t stub;             /* where the first slot is: behind the vdso */
	unsigned char *behind;     /* [slot]: what was there; NULL: nothing is changed */
	uint64_t region;           /* 0: none */
	size_t region_bytes;       /* pages */
	uint64_t slots, heads;     /* addresses in region; one for each thread */
	uint64_t calls, calls_end; /* free room for lists */
	uint64_t data, data_end;   /* free room for what they point to */
	uint64_t done;             /* address of the word that the other threads wait for */
	struct rows steps;         /* struct inside_call; of this round */
	struct rows results;       /* int64_t; of the last round */
	struct rows undo;          /* struct inside_call; of all rounds */
	struct rows back_end;      /* struct inside_call */
	uint64_t gate;             /* 0: its own */
	int policy;                /* of the first thread, as sched_getscheduler() told it */
	uint64_t priority;         /* address of the sched_param for it; 0: it does not go first */
	bool is_running;           /* its registers are in the lists */
	bool bad;                  /* no room or no memory */
};

/* Bytes from one slot to the next. */
size_t inside_slot_room(void);

struct member *inside_member_at(const struct inside *in, size_t i);
int inside_write_word(struct inside *in, uint64_t at, uint64_t value, struct err *e) MUST_CHECK;

/* A list as the job reads it, while it is made. */
struct list {
	struct inside *in;
	struct rows calls; /* struct arch_call */
	uint64_t at;       /* address of the first */
};

struct list list_begin(struct inside *in);
uint64_t list_here(const struct list *l); /* the address behind the last call */
void list_add(struct list *l, const struct inside_call *call);
void list_add_all(struct list *l, const struct rows *calls);
/* The calls of undo, the last first. */
void list_add_back(struct list *l, const struct rows *undo, size_t count);
void list_stop(struct list *l, const struct member *m);
/* Sets the int at this address from 0 to 1, or waits until it is. */
void list_tell(struct list *l, uint64_t at);
void list_wait(struct list *l, uint64_t at);
/* Home: the member that did the work tells the others, which waited for it. */
void list_leave(struct list *l, const struct member *m);
/* Into the memory of the job; frees l. */
int list_end(struct list *l, struct err *e) MUST_CHECK;

/* inside_first.c: the first thread goes before all others of the machine while it makes calls for
 * us; its lists end with a call that takes this back, so that it does not hang on us. */
void inside_plan_first(struct inside *in);
void inside_go_first(const struct inside *in);
void inside_go_normal(const struct inside *in);

/* Writes the way back of m anew and makes it the one that counts. */
int inside_write_back(struct inside *in, struct member *m, struct err *e) MUST_CHECK;

#endif
