/* SPDX-License-Identifier: Apache-2.0
 * The entry points of driver.def that have no code of their own: jumps to another entry point, the per-thread variants
 * (which first set driver_is_per_thread), and those that are not supported. x86-64. */

#define ENTRY(symbol, base, version, how, target) how(symbol, target)
#define REAL(symbol, target)
#define BEGIN(symbol) .globl symbol; .type symbol, @function; .p2align 4; symbol:
#define END(symbol) .size symbol, . - symbol
#define SAME(symbol, target) BEGIN(symbol) jmp target@PLT; END(symbol)
#define THREAD(symbol, target)                                                                                         \
    BEGIN(symbol) movq driver_is_per_thread@gottpoff(%rip), %r11; movb $1, %fs:(%r11); jmp target@PLT; END(symbol)
#define NONE(symbol, target)                                                                                           \
    .pushsection .data.rel.local, "aw"; .p2align 3; 7: .quad 8f, 0; .popsection;                                       \
    .pushsection .rodata.str1.1, "aMS", @progbits, 1; 8: .asciz #symbol; .popsection;                                  \
    BEGIN(symbol) leaq 7b(%rip), %rdi; jmp driver_unsupported@PLT; END(symbol)

    .text
#include "emulator/driver.def"

    .section .note.GNU-stack, "", @progbits
