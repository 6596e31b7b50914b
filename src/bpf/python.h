/* SPDX-License-Identifier: MIT */
/*
 * python: what the program that walks Python frames (python.bpf.c) shares with its loader, and with
 * the reader of frames from outside (interp/python_read.h): layouts of CPython and records.
 */
#ifndef BPF_PYTHON_H
#define BPF_PYTHON_H

#include <linux/types.h>

#define PYTHON_FRAMES_MAX 4096  /* of a stack; a power of two */
#define PYTHON_TEXT_BYTES 256   /* read of a name */
#define PYTHON_TABLE_BYTES 4096 /* read of a table of lines; a power of two */
#define PYTHON_PROCESSES_MAX 8192
#define PYTHON_FILES_MAX 1024
#define PYTHON_SEEN_MAX 65536 /* code objects */
#define PYTHON_RING_BYTES (4u << 20)
#define PYTHON_THREADS_MAX 256 /* steps of the search for a thread */
#define PYTHON_FRAME_BYTES 128 /* of a frame, and */
#define PYTHON_CODE_BYTES 256  /* of a code object: what layouts may refer to */

/* Where CPython keeps things: offsets in bytes. 0: this version has no such member. */
struct python_layout {
	__u32 minor;          /* of the version: 3.minor */
	__u32 interp_head;    /* in _PyRuntime: first interpreter, */
	__u32 tstate_current; /* thread that holds the GIL, */
	__u32 tss_key;        /* key of the threads' states (pthread_getspecific) */
	__u32 interp_next, interp_threads;
	__u32 thread_id, native_id;  /* in a thread's state */
	__u32 active;                /* its byte that has PYTHON_ACTIVE */
	__u32 top_frame;             /* its innermost frame, or */
	__u32 has_cframe;            /* the _PyCFrame that has it, */
	__u32 cframe_frame;          /* there */
	__u32 previous, code, instr; /* in a frame */
	__u32 is_entry, owner;
	__u32 frame_bytes;                   /* that these lie in */
	__u32 first_line, file, name, table; /* in a code object */
	__u32 instructions;                  /* its bytecode */
	__u32 code_bytes;                    /* that the others lie in */
	__u32 ascii_data, compact_data;      /* text of a str */
};

#define PYTHON_THREAD_NEXT 8 /* in a thread's state, of all versions */
#define PYTHON_THREAD_INTERP 16
#define PYTHON_ACTIVE 0x10 /* the thread holds the GIL */
#define PYTHON_TAG 7       /* bits of a pointer to a code object that mean other things in 3.14 */
#define PYTHON_OWNER_C 3   /* and more: a frame of the interpreter, not of a function */

/* A process with an interpreter. */
struct python_process {
	__u64 runtime;       /* address of _PyRuntime, */
	__u64 runtime_bytes; /* its size; 0: unknown */
	__u64 code_type;     /* address of PyCode_Type; 0: unknown */
	struct python_layout layout;
};

/* An executable with an interpreter in it. */
struct python_file_key {
	__u64 inode;
	__u32 device, reserved; /* as the kernel numbers it */
};

struct python_file {
	__u64 start_code; /* lowest address of its code in the file; the addresses below, too */
	struct python_process process;
};

enum python_record_kind { PYTHON_STACK = 1, PYTHON_CODE = 2 };

/* Of a frame's flags. */
#define PYTHON_FRAME_ENTRY 1 /* called from C: the last one of its evaluation loop */
#define PYTHON_FRAME_SHIM 2  /* no function: ends the frames of an evaluation loop */

struct python_frame {
	__u64 id; /* of its code */
	__s32 at; /* up to 3.10: f_lasti; later: the instruction less the code object, in bytes */
	__u32 flags;
};

enum python_end {
	PYTHON_WHOLE,
	PYTHON_CUT,     /* more than PYTHON_FRAMES_MAX */
	PYTHON_DROPPED, /* not a chain of frames: the thread was changing it */
};

/* What a thread has of the GIL. */
enum python_lock {
	PYTHON_LOCK_NONE,
	PYTHON_LOCK_HELD,
	PYTHON_LOCK_AWAITED, /* it waits for a futex of the GIL */
};

/* The Python frames of a sample: struct python_frame, [count], innermost first, follow. */
struct python_stack {
	__u32 kind; /* PYTHON_STACK */
	__u32 minor;
	__u32 tgid, tid;
	__u64 time_ns; /* the sample's */
	__u32 count;
	__u16 end;  /* enum python_end */
	__u16 lock; /* enum python_lock */
};

/* A str. */
struct python_text {
	__u64 at;    /* address of its characters */
	__u32 bytes; /* that it has */
	__u16 got;   /* of these, in the record */
	__u8 width;  /* bytes of a character: 1, 2, 4; 0: unreadable */
	__u8 is_ascii;
};

/* A code object, once. */
struct python_code {
	__u32 kind; /* PYTHON_CODE */
	__u32 minor;
	__u32 tgid;
	__s32 first_line;
	__u64 id;
	__u32 instructions; /* struct python_layout */
	__u32 table_got;    /* bytes of table */
	__u64 table_at;     /* address, and */
	__u64 table_bytes;  /* length of the whole table */
	struct python_text name, file;
	char name_bytes[PYTHON_TEXT_BYTES];
	char file_bytes[PYTHON_TEXT_BYTES];
	unsigned char table[PYTHON_TABLE_BYTES]; /* [table_got] */
};

#endif
