# SPDX-License-Identifier: MIT
# A program of i386: three getpid, then three quarters of the time in hot and a quarter in cold; it exits with 5.
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined eip
	mov $3, %esi
0:	mov $20, %eax
	int $0x80
	dec %esi
	jnz 0b
	mov $60, %esi
1:	mov $6000000, %ecx
	call hot
	mov $2000000, %ecx
	call cold
	dec %esi
	jnz 1b
	mov $1, %eax
	mov $5, %ebx
	int $0x80
	.cfi_endproc
	.size _start, .-_start
	.type hot, @function
hot:
	.cfi_startproc
2:	dec %ecx
	jnz 2b
	ret
	.cfi_endproc
	.size hot, .-hot
	.type cold, @function
cold:
	.cfi_startproc
3:	dec %ecx
	jnz 3b
	ret
	.cfi_endproc
	.size cold, .-cold
