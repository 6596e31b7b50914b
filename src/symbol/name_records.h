/* SPDX-License-Identifier: MIT */
/*
 * name_records: a question for the names of addresses in one file, and its answer, as bytes.
 *
 * Both ends are the same program. The answer comes from the process that read a foreign file, so
 * its bytes are not trusted: what name_answer_read() accepts is consistent, whatever it says.
 */
#ifndef SYMBOL_NAME_RECORDS_H
#define SYMBOL_NAME_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "symbol/symbol_file.h"

enum name_kind {
	NAME_ELF,
	NAME_PERF_MAP,     /* or a jitdump */
	NAME_OWN_PERF_MAP, /* must belong to this user or root */
	NAME_KINDS,
};

struct name_address {
	uint64_t offset; /* in the file; of a perf map the address */
	uint64_t vaddr;  /* where the file has no code, only debugging information */
};

struct name_request {
	enum name_kind kind;
	struct symbol_file_opts file;         /* of a perf map only the path */
	const struct name_address *addresses; /* [count] */
	size_t count;
};

struct name_answer {
	int code;                          /* 0, or the -errno for which there are no names */
	const char *reason;                /* one line; "": none */
	bool has_lines, has_inlines;       /* as in struct symbol_answer */
	bool is_cut;                       /* the perf map is larger than what was read of it */
	struct symbol_function *functions; /* [function_count]; text in the bytes that were read */
	uint32_t function_count;
	struct symbol_frame *frames; /* of all addresses; functions are indices of the above */
	uint32_t *first; /* [count + 1]: frames of address i are [first[i]..first[i+1]), as in
			  * struct symbol_answer */
};

/* Appends; check buf_error(). */
void name_request_write(const struct name_request *r, struct buf *out);
void name_answer_write(const struct name_answer *a, size_t count, struct buf *out);

/* The text in *ret points into bytes; *ret_addresses is the caller's to free. 0, -EINVAL, -ENOMEM.
 */
int name_request_read(const void *bytes, size_t len, struct name_request *ret,
		      struct name_address **ret_addresses) MUST_CHECK;

/* count: of the addresses. The text in *ret points into bytes. 0, -EINVAL, -ENOMEM. */
int name_answer_read(const void *bytes, size_t len, size_t count,
		     struct name_answer *ret) MUST_CHECK;
void name_answer_fini(struct name_answer *a);

#endif
