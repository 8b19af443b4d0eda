// SPDX-License-Identifier: Apache-2.0
// Instructions that compilers rarely write, where a plausible reading is wrong.
// launch saturated grid 1 1 1 block 32 1 1 args p:4096
// launch saturated_high grid 1 1 1 block 32 1 1 args p:4096
// launch packed_sum grid 1 1 1 block 32 1 1 args p:4096
// launch packed_minimum grid 1 1 1 block 32 1 1 args p:4096
// launch clamped_minimum grid 1 1 1 block 32 1 1 args p:4096
// launch second_predicate grid 1 1 1 block 32 1 1 args p:4096
// launch extended_quotient grid 1 1 1 block 32 1 1 args p:8192
// launch extended_product grid 1 1 1 block 32 1 1 args p:4096@2048
// launch halved_residue grid 1 1 1 block 32 1 1 args p:4096
// launch wide_shift grid 1 1 1 block 32 1 1 args p:4096
// launch stride_of_zero grid 1 1 1 block 32 1 1 args p:4096 i32:0
// launch starts_alike grid 1 1 1 block 1 1 1 args p:4000 i64:0 i64:100
// launch halves grid 1 1 1 block 32 1 1 args p:4096
// launch swapped_halves grid 1 1 1 block 32 1 1 args p:4096
// launch both_same grid 1 1 1 block 32 1 1 args p:4096
// launch guarded_definition grid 1 1 1 block 32 1 1 args p:4096
// launch guarded_return grid 1 1 1 block 32 1 1 args p:4096
// launch steps_over grid 1 1 1 block 1 1 1 args p:4096
// launch steps_down grid 1 1 1 block 32 1 1 args p:4096
// launch unsigned_bound grid 1 1 1 block 32 1 1 args p:4096 i32:-1
// launch bytes_wrap grid 1 1 1 block 32 1 1 args p:4096
// launch divides_negative grid 1 1 1 block 32 1 1 args p:4096
// launch spilled grid 1 1 1 block 32 1 1 args p:4096 i32:1
// launch vector_store grid 1 1 1 block 32 1 1 args p:4096
// launch saturating_step grid 1 1 1 block 1 1 1 args p:4096
// launch least_magnitude grid 1 1 1 block 32 1 1 args p:4096
// launch signed_field grid 1 1 1 block 32 1 1 args p:4096
// launch carried grid 1 1 1 block 32 1 1 args p:4096
// launch given_or_not grid 1 1 1 block 32 1 1 args p:4096 p:64
// launch changed_in_branch grid 1 1 1 block 32 1 1 args p:4096 i32:20
// analyse stores_matrix grid 1 1 1 block 32 1 1 args p:4096
// analyse discards grid 1 1 1 block 32 1 1 args p:4096

#include <mma.h>
using namespace nvcuda;

#define KERNEL extern "C" __global__ void
#define T (int)threadIdx.x

// 2147483640 + t stays at the largest number from t = 7 on
KERNEL saturated(int *x)
{
    int sum;
    asm volatile("add.sat.s32 %0, %1, 2147483640;" : "=r"(sum) : "r"(T));
    x[sum - 2147483600] = 1;
}

KERNEL saturated_high(int *x)
{
    int sum;
    asm volatile("mad.hi.sat.s32 %0, %1, 16777216, 2147483640;" : "=r"(sum) : "r"(T << 8));
    x[sum - 2147483600] = 1;
}

// the low half does not carry into the high one
KERNEL packed_sum(int *x)
{
    int sum;
    asm volatile("add.u16x2 %0, %1, %2;" : "=r"(sum) : "r"(T), "r"(65520));
    x[sum >= 65536 ? sum - 65536 + 100 : sum - (sum >= 65520 ? 65520 : 0)] = 1;
}

KERNEL packed_minimum(int *x)
{
    int least;
    asm volatile("min.u16x2 %0, %1, %2;" : "=r"(least) : "r"(T + 65536), "r"(131072 + 8));
    x[least - 65536] = 1;
}

KERNEL clamped_minimum(int *x)
{
    int least;
    asm volatile("min.relu.s32 %0, %1, 20;" : "=r"(least) : "r"(T - 8));
    x[least + 100] = 1;
}

// q is (not a < b) and c, not the contrary of p
KERNEL second_predicate(int *x)
{
    asm volatile("{\n .reg .pred p, q, c;\n setp.lt.s32 c, %0, 16;\n setp.lt.and.s32 p|q, %0, 8, c;\n"
                 " @q st.global.u32 [%1], 1;\n}" ::"r"(T), "l"(x + T));
}

// a negative quotient, extended as if it were not
KERNEL extended_quotient(char *x)
{
    int quotient;
    asm volatile("mul.hi.s32 %0, %1, 1431655766;" : "=r"(quotient) : "r"(T - 30));
    long long wide;
    asm volatile("cvt.u64.u32 %0, %1;\n shr.s64 %0, %0, 20;" : "=l"(wide) : "r"(quotient));
    x[wide & 8191] = 1;
}

KERNEL extended_product(char *x)
{
    int product;
    asm volatile("mul.lo.u32 %0, %1, 100000000;" : "=r"(product) : "r"(T));
    long long wide;
    asm volatile("cvt.s64.s32 %0, %1;\n shr.s64 %0, %0, 20;" : "=l"(wide) : "r"(product));
    x[wide] = 1;
}

// n - 300 * n is negative, and read as another number by a shift
KERNEL halved_residue(char *x)
{
    unsigned q, r, n = 10000000u + T;
    asm volatile("mul.lo.u32 %0, %1, 300;" : "=r"(q) : "r"(n));
    asm volatile("sub.u32 %0, %1, %2;\n shr.s32 %0, %0, 1;\n add.u32 %0, %0, %2;" : "=r"(r) : "r"(n), "r"(q));
    x[r >> 20] = 1;
}

// a 16-bit shift by 65536 leaves nothing; so does one of 32 bits by 32 and more
KERNEL wide_shift(char *x)
{
    unsigned shifted;
    unsigned short narrow;
    asm volatile("shl.b32 %0, %1, 33;" : "=r"(shifted) : "r"(T));
    asm volatile("shl.b16 %0, %1, 65536;" : "=h"(narrow) : "h"((short)T));
    x[shifted + T + 2 * narrow] = 1;
}

// the stride matters though it is 0 here
KERNEL stride_of_zero(float *x, int stride)
{
    float *p = x + T;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        *p = 1;
        p += stride;
    }
}

// the 64-bit counter starts as the other one does only because `start` is 0 here
KERNEL starts_alike(char *x, long start, long n)
{
    int i = 0;
    asm volatile("{\n .reg .pred p;\n .reg .b64 a;\nagain_%=:\n add.s64 a, %0, %2;\n st.global.u8 [a], 1;\n"
                 " add.s32 %1, %1, 3;\n cvt.s64.s32 %0, %1;\n setp.lt.s64 p, %0, %3;\n @p bra again_%=;\n}"
                 : "+l"(start), "+r"(i) : "l"(x), "l"(n));
}

KERNEL halves(char *x)
{
    unsigned long long both;
    asm volatile("mov.b64 %0, {%1, %2};" : "=l"(both) : "r"(T), "r"(T));
    asm volatile("{\n .reg .b32 low, high;\n mov.b64 {low, high}, %0;\n shl.b32 high, high, 4;\n"
                 " mov.b64 %0, {high, low};\n}" : "+l"(both));
    x[(both >> 32) + (both & 0xffffffff)] = 1;
}

KERNEL swapped_halves(char *x)
{
    unsigned low, high;
    long long index = T - 16;
    asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(index));
    x[(high >> 30) * 100 + (low & 63)] = 1;
}

KERNEL both_same(char *x)
{
    int sum;
    asm volatile("{\n .reg .b16 a, b;\n mov.b32 {a, b}, %1;\n add.s16 a, a, b;\n mov.b32 %0, {a, a};\n}" : "=r"(sum) : "r"(T - 5));
    x[(sum & 0xff)] = 1;
}

KERNEL guarded_definition(char *x)
{
    int index = T;
    asm volatile("{\n .reg .pred p;\n setp.gt.s32 p, %1, 20;\n mov.u32 %0, 5;\n @p add.s32 %0, %0, %1;\n @!p mov.u32 %0, 77;\n}" : "+r"(index) : "r"(T));
    x[index] = 1;
}

KERNEL guarded_return(char *x)
{
    asm volatile("{\n .reg .pred p;\n setp.hs.u32 p, %0, 9;\n @p ret;\n}" ::"r"(T));
    x[T] = 1;
}

// != as the bound, with a step that meets it only after wrapping around
KERNEL steps_over(char *x)
{
    unsigned char i = 0;
#pragma unroll 1
    do {
        x[i] = 1;
        i += 96;
    } while (i != 32);
}

KERNEL steps_down(char *x)
{
    int i = T;
    asm volatile("{\n .reg .pred p;\n .reg .b64 a;\nagain_%=:\n cvt.s64.s32 a, %0;\n add.s64 a, a, %1;\n st.global.u8 [a], 1;\n"
                 " sub.s32 %0, %0, 3;\n setp.ge.s32 p, %0, 0;\n @p bra again_%=;\n}" : "+r"(i) : "l"(x));
}

// -1 is a large bound
KERNEL unsigned_bound(char *x, int bound)
{
    if ((unsigned)T < (unsigned)bound) x[T] = 1;
    if (T < bound) x[T + 100] = 1;
}

KERNEL bytes_wrap(char *x)
{
    unsigned char i = (unsigned char)(T * 16 + 8);
    signed char j = (signed char)(T * 8);
    x[i] = 1;
    x[1000 + j] = 1;
}

KERNEL divides_negative(char *x)
{
    int q, r;
    asm volatile("div.s32 %0, %1, -3;" : "=r"(q) : "r"(T - 16));
    asm volatile("rem.s32 %0, %1, -5;" : "=r"(r) : "r"(T - 16));
    x[1000 + 10 * q + r] = 1;
}

KERNEL spilled(char *x, int which)
{
    volatile int kept[4];
    kept[0] = T;
    kept[which] = T + 1;
    x[kept[1] & 127] = 1;
}

KERNEL vector_store(float4 *x)
{
    float4 v = x[T ^ 1];
    x[63 - T] = v;
}

KERNEL saturating_step(char *x)
{
    int i = 2147483000;
    asm volatile("{\n .reg .pred p;\n .reg .b64 a;\n .reg .b32 k, n;\n mov.u32 n, 0;\nagain_%=:\n sub.s32 k, %0, 2147483000;\n cvt.s64.s32 a, k;\n add.s64 a, a, %1;\n"
                 " st.global.u8 [a], 1;\n add.sat.s32 %0, %0, 200;\n add.s32 n, n, 1;\n setp.lt.s32 p, n, 5;\n @p bra again_%=;\n}" : "+r"(i) : "l"(x));
}

KERNEL least_magnitude(char *x)
{
    int m;
    asm volatile("abs.s32 %0, %1;" : "=r"(m) : "r"((T - 16) << 27));
    x[((unsigned)m >> 27) + 32] = 1;
}

KERNEL signed_field(char *x)
{
    int f;
    asm volatile("bfe.s32 %0, %1, 28, 4;" : "=r"(f) : "r"(T << 27));
    x[f + 64] = 1;
}

// a column of a red-black grid, as nvcc has it
KERNEL red_black(char *x)
{
    int f;
    asm volatile("bfi.b32 %0, %1, %2, 1, 31;" : "=r"(f) : "r"(T), "r"(T / 5 + 7));
    x[f] = 1;
}

KERNEL field_put_in(char *x)
{
    int f;
    asm volatile("bfi.b32 %0, %1, %2, 2, 3;" : "=r"(f) : "r"(3 * T), "r"(T + 9));
    x[f] = 1;
}

KERNEL carried(char *x)
{
    unsigned low, high;
    asm volatile("add.cc.u32 %0, %2, 4294967280;\n addc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(T));
    x[high * 64 + (low & 31)] = 1;
}

// the second pointer is looked at, but nothing is read through it
KERNEL given_or_not(char *x, const char *optional)
{
    x[optional ? T : 31 - T] = 1;
}

KERNEL changed_in_branch(char *x, int n)
{
#pragma unroll 1
    for (int i = T; i < n; i += 4) {
        x[i] = 1;
        if (i & 1) i += 2;
    }
}

// what the warp writes is in no relation
KERNEL stores_matrix(float *x)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 1);
    wmma::store_matrix_sync(x, sums, 16, wmma::mem_row_major);
}

KERNEL discards(float *x)
{
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(x));
}
