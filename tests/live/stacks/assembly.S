/* SPDX-License-Identifier: MIT */
/* Hand-written code with CFI: saves rbp as a plain register, moves the stack in odd steps. */
	.text
	.globl	assembly_step
	.type	assembly_step, @function
assembly_step:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	$0x1234567, %rbp
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	%rdi, %rbx
	movl	$4, %eax
1:	imulq	%rbp, %rbx
	decl	%eax
	jnz	1b
	call	from_assembly
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	assembly_step, .-assembly_step
	.section .note.GNU-stack, "", @progbits
