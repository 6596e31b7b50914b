/* SPDX-License-Identifier: MIT */
#include "symbol/elf/disasm.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#include <dlfcn.h>
#endif

void insns_fini(struct insns *s)
{
	free(s->list);
	buf_fini(&s->text);
	*s = (struct insns){ 0 };
}

const char *insn_text(const struct insns *s, size_t i)
{
	return s->text.data + s->list[i].text;
}

#ifdef HAVE_CAPSTONE

#define TEXT_OF(number) #number
#define LIBRARY(major) "libcapstone.so." TEXT_OF(major)

/* Loaded where it is used: its tables are 1.3 MB that the loader writes to, which every other
 * command would start with, and each child that it forks. So libcapstone.so must be on the machine
 * that shows instructions, also when auger is linked against static libraries; a program that is
 * linked statically as a whole opens it only where the C library is the one it was linked with. */
static struct {
	void *library;
	__typeof__(&cs_open) open;
	__typeof__(&cs_close) close;
	__typeof__(&cs_option) option;
	__typeof__(&cs_strerror) strerror;
	__typeof__(&cs_malloc) malloc;
	__typeof__(&cs_free) free;
	__typeof__(&cs_disasm_iter) disasm_iter;
	__typeof__(&cs_insn_group) insn_group;
} cs;

static int load_capstone(struct err *e)
{
	const struct {
		const char *name;
		void **to;
	} functions[] = {
		{ "cs_open", (void **)&cs.open },
		{ "cs_close", (void **)&cs.close },
		{ "cs_option", (void **)&cs.option },
		{ "cs_strerror", (void **)&cs.strerror },
		{ "cs_malloc", (void **)&cs.malloc },
		{ "cs_free", (void **)&cs.free },
		{ "cs_disasm_iter", (void **)&cs.disasm_iter },
		{ "cs_insn_group", (void **)&cs.insn_group },
	};

	void *library;

	if (cs.library)
		return 0;
	errno = 0;
	library = dlopen(LIBRARY(CS_API_MAJOR), RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return errno == ENOMEM ? err_nomem(e)
				       : err_set(e, -ENOTSUP, "no capstone here: %s", dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		*functions[i].to = dlsym(library, functions[i].name);
		if (!*functions[i].to) {
			err_set(e, -ENOTSUP, "no capstone here: %s", dlerror());
			dlclose(library);
			return e->code;
		}
	}
	cs.library = library;
	return 0;
}

static int open_capstone(uint16_t machine, csh *ret, struct err *e)
{
	cs_err rc;

	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return err_set(e, -ENOTSUP, "no disassembler for ELF machine %u", machine);
	if (load_capstone(e) < 0)
		return e->code;
	rc = machine == EM_X86_64 ? cs.open(CS_ARCH_X86, CS_MODE_64, ret)
				  : cs.open(CS_ARCH_ARM64, CS_MODE_ARM, ret);
	if (rc == CS_ERR_MEM)
		return err_nomem(e);
	if (rc != CS_ERR_OK)
		return err_set(e, -ENOTSUP, "capstone: %s", cs.strerror(rc));
	/* as objdump and perf annotate print it */
	if (machine == EM_X86_64)
		cs.option(*ret, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	cs.option(*ret, CS_OPT_DETAIL, CS_OPT_ON);
	cs.option(*ret, CS_OPT_SKIPDATA, CS_OPT_ON);
	return 0;
}

/* Where a direct jump or call goes: its one immediate operand. */
static uint64_t target_of(csh handle, uint16_t machine, const cs_insn *insn)
{
	if (!insn->id || !insn->detail ||
	    (!cs.insn_group(handle, insn, CS_GRP_JUMP) &&
	     !cs.insn_group(handle, insn, CS_GRP_CALL)))
		return 0;
	if (machine == EM_X86_64) {
		const cs_x86 *x86 = &insn->detail->x86;

		return x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM
			       ? (uint64_t)x86->operands[0].imm
			       : 0;
	}
	for (unsigned i = insn->detail->arm64.op_count; i-- > 0;)
		if (insn->detail->arm64.operands[i].type == ARM64_OP_IMM)
			return (uint64_t)insn->detail->arm64.operands[i].imm;
	return 0;
}

static int add_insn(struct insns *to, size_t *cap, const struct insn *insn)
{
	if (to->count == *cap) {
		size_t wanted = *cap ? 2 * *cap : 64;
		struct insn *list = reallocarray(to->list, wanted, sizeof *list);

		if (!list)
			return -ENOMEM;
		to->list = list;
		*cap = wanted;
	}
	to->list[to->count++] = *insn;
	return 0;
}

static int decode(struct insns *to, csh handle, uint16_t machine, const unsigned char *bytes,
		  size_t len, uint64_t address)
{
	cs_insn *insn = cs.malloc(handle);
	size_t cap = to->count; /* grows at once: what is there may be exactly full */
	int rc = insn ? 0 : -ENOMEM;

	while (rc == 0 && cs.disasm_iter(handle, &bytes, &len, &address, insn)) {
		struct insn row = {
			.address = insn->address,
			.size = insn->size,
			.text = (uint32_t)to->text.len,
			.target = target_of(handle, machine, insn),
		};

		if (insn->op_str[0])
			buf_printf(&to->text, "%-7s %s", insn->mnemonic, insn->op_str);
		else
			buf_put_str(&to->text, insn->mnemonic);
		buf_put_byte(&to->text, 0);
		rc = buf_error(&to->text);
		if (rc == 0)
			rc = add_insn(to, &cap, &row);
	}
	if (insn)
		cs.free(insn, 1);
	return rc;
}

int disassemble(struct insns *to, uint16_t machine, const unsigned char *bytes, size_t len,
		uint64_t address, struct err *e)
{
	csh handle;
	int rc = open_capstone(machine, &handle, e);

	if (rc < 0)
		return rc;
	rc = decode(to, handle, machine, bytes, len, address);
	cs.close(&handle);
	return rc < 0 ? err_nomem(e) : 0;
}

#else

int disassemble(struct insns *to, uint16_t machine, const unsigned char *bytes, size_t len,
		uint64_t address, struct err *e)
{
	(void)to, (void)machine, (void)bytes, (void)len, (void)address;
	return err_set(e, -ENOTSUP, "built without capstone: no instructions");
}

#endif
