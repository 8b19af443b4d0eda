/* SPDX-License-Identifier: Apache-2.0
 * The exported symbols, x86-64 System V. Every stub leaves all argument registers as it found them and ends in a tail
 * jump, so that the real function sees the program's own call; while groups are verified, calls that flush are made from
 * here instead, so that their end is seen (gate.h). Needs entry_real, entry_prepare, entry_done, entry_dlsym (entry.c) and
 * shim_attention (shim.c). r11 is free at a call; everything else is saved. */

#ifdef __x86_64__

#define ENTRY(symbol, class) entry_##class symbol

/* A function of this library that the dynamic linker shows to programs, and its address in entry_stubs. */
.macro exported symbol
    .globl \symbol
    .type \symbol, @function
    .p2align 4
\symbol:
Lstub_\symbol:
.endm

.macro entry_PASS symbol
    exported \symbol
    movq    entry_real+8*entry_index(%rip), %r11
    testq   %r11, %r11
    je      1f
    jmp     *%r11
1:  movl    $entry_index, %r11d
    jmp     prepare_and_jump
    .size \symbol, . - \symbol
    .set entry_index, entry_index + 1
.endm

.macro entry_FLUSH symbol
    exported \symbol
    cmpl    $0, shim_attention(%rip)
    jne     1f
    jmp     *entry_real+8*entry_index(%rip)
1:  movl    $entry_index, %r11d
    jmp     prepare_and_jump
    .size \symbol, . - \symbol
    .set entry_index, entry_index + 1
.endm

.macro entry_TRACKED symbol
    exported \symbol
    jmp     hook_\symbol
    .size \symbol, . - \symbol
    .set entry_index, entry_index + 1
.endm

.macro entry_LAUNCH symbol
    entry_TRACKED \symbol
.endm

/* rax, rdi, rsi, rdx, rcx, r8, r9, r10 and xmm0-7; keeps the stack aligned for a call when entered by a jump. */
.macro save_arguments
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq   %rax
    pushq   %rdi
    pushq   %rsi
    pushq   %rdx
    pushq   %rcx
    pushq   %r8
    pushq   %r9
    pushq   %r10
    subq    $128, %rsp
    movups  %xmm0, (%rsp)
    movups  %xmm1, 16(%rsp)
    movups  %xmm2, 32(%rsp)
    movups  %xmm3, 48(%rsp)
    movups  %xmm4, 64(%rsp)
    movups  %xmm5, 80(%rsp)
    movups  %xmm6, 96(%rsp)
    movups  %xmm7, 112(%rsp)
.endm

.macro restore_arguments
    movups  (%rsp), %xmm0
    movups  16(%rsp), %xmm1
    movups  32(%rsp), %xmm2
    movups  48(%rsp), %xmm3
    movups  64(%rsp), %xmm4
    movups  80(%rsp), %xmm5
    movups  96(%rsp), %xmm6
    movups  112(%rsp), %xmm7
    addq    $128, %rsp
    popq    %r10
    popq    %r9
    popq    %r8
    popq    %rcx
    popq    %rdx
    popq    %rsi
    popq    %rdi
    popq    %rax
    popq    %rbp
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
.endm

    .hidden entry_real
    .hidden entry_prepare
    .hidden entry_done
    .hidden entry_dlsym
    .hidden entry_real_dlsym
    .hidden shim_attention

    .text
    .p2align 4
prepare_and_jump: /* r11d: the entry's index */
    .cfi_startproc
    save_arguments
    movl    %r11d, %edi
    call    entry_prepare
    movq    %rax, %r11
    testq   %rdx, %rdx
    jne     1f
    .cfi_remember_state
    restore_arguments
    jmp     *%r11
    .cfi_restore_state
1:  restore_arguments
    /* A call of our own, with a copy of the program's arguments on the stack: more than any entry point has. */
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq    $128, %rsp
    .set    at, 0
    .rept   8
    movups  16+at(%rbp), %xmm8
    movups  %xmm8, at(%rsp)
    .set    at, at + 16
    .endr
    call    *%r11
    movq    %rax, (%rsp)
    call    entry_done
    movq    (%rsp), %rax
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc

/* dlsym: all but names like cuX... and nvrtcX... go to the real one, which must see its caller's return address
 * (RTLD_NEXT means the object after the caller). */
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    testq   %rsi, %rsi
    je      2f
    cmpb    $'n', (%rsi)
    je      1f
    cmpb    $'c', (%rsi)
    jne     2f
1:  save_arguments
    movq    8(%rbp), %rdx
    call    entry_dlsym
    testq   %rax, %rax
    je      3f
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_restore_state
3:  restore_arguments
2:  movq    entry_real_dlsym(%rip), %r11
    testq   %r11, %r11
    je      4f
    jmp     *%r11
4:  save_arguments
    call    entry_find_dlsym
    movq    %rax, %r11
    restore_arguments
    jmp     *%r11
    .cfi_endproc
    .size dlsym, . - dlsym
    .hidden entry_find_dlsym

    .set entry_index, 0
#include "interpose/driver.def"

/* Entry points that have no row: the n-th that cuGetProcAddress or dlsym meets gets the n-th of these. */
    .p2align 5
    .globl entry_unknown_stubs
    .hidden entry_unknown_stubs
    .type entry_unknown_stubs, @function
entry_unknown_stubs:
.rept 512
    .p2align 5
    cmpl    $0, shim_attention(%rip)
    jne     1f
    jmp     *entry_real+8*entry_index(%rip)
1:  movl    $entry_index, %r11d
    jmp     prepare_and_jump
    .set entry_index, entry_index + 1
.endr
    .p2align 5
    .size entry_unknown_stubs, . - entry_unknown_stubs

/* The address of every exported stub, in the order of the table. */
#undef ENTRY
#define ENTRY(symbol, class) .quad Lstub_##symbol
    .section .data.rel.ro.local, "aw"
    .p2align 3
    .globl entry_stubs
    .hidden entry_stubs
    .type entry_stubs, @object
entry_stubs:
#include "interpose/driver.def"
    .size entry_stubs, . - entry_stubs

    .section .note.GNU-stack, "", @progbits

#else
#error "kfuse's driver stubs exist for x86-64 only"
#endif
