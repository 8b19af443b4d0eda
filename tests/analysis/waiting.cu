// SPDX-License-Identifier: Apache-2.0
// Loops that end by what they load: which may wait for another thread, and which make way by themselves.
// launch rows_in_memory grid 1 1 1 block 32 1 1 args p:132:4 p:4096:16 p:4096 p:128 i32:30
// launch rows_two_deep grid 1 1 1 block 32 1 1 args p:132:4 p:132:4 p:4096:16 p:4096 p:128 i32:30
// launch list grid 1 1 1 block 32 1 1 args p:4096:2 p:128 i32:30
// launch search grid 1 1 1 block 32 1 1 args p:4096:50 p:128 i32:30 i32:64
// launch strides grid 1 1 1 block 32 1 1 args p:4096:3 p:4096 p:128 i32:30
// launch first_negative grid 1 1 1 block 32 1 1 args p:65536 p:128 i32:30
// launch by_two_conditions grid 1 1 1 block 32 1 1 args p:4096 p:128 i32:30
// launch flag_of_block grid 1 1 1 block 32 1 1 args p:128 i32:4
// analyse wait_flag grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_flag_in_block grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_own_flag grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_value grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_counted grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_counting grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_or_give_up grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_or_give_up_at_once grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_packed grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_branched grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_table grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_with_inner grid 1 1 1 block 32 1 1 args p:128 p:128 i32:30
// analyse wait_fresh grid 1 1 1 block 32 1 1 args p:4096 p:128 i32:30
// analyse wait_relaxed grid 1 1 1 block 32 1 1 args p:4096 p:128 i32:30
// analyse wait_atomic grid 1 1 1 block 32 1 1 args p:4096 p:128 i32:30

#define INDEX                                                                                                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    if (i >= n) return
#define KERNEL extern "C" __global__ void

/* --- that make way */

KERNEL rows_in_memory(const int *rows, const int *columns, const float *x, float *y, int n)
{
    INDEX;
    for (int k = rows[i]; k < rows[i + 1]; k++) y[i] += x[columns[k]];
}

KERNEL rows_two_deep(const int *rows, const int *more, const int *columns, const float *x, float *y, int n)
{
    INDEX;
    for (int k = rows[i]; k < rows[i + 1]; k++)
        for (int j = more[k]; j < more[k + 1]; j++) y[i] += x[columns[j]];
}

KERNEL list(const int *next, float *y, int n)
{
    INDEX;
    int length = 0;
    for (int j = i; j < 4 * n; j = j + 1 + next[j]) length++;
    y[i] = length;
}

KERNEL search(const int *keys, float *y, int n, int count)
{
    INDEX;
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (keys[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    y[i] = low;
}

KERNEL strides(const int *stride, const float *x, float *y, int n)
{
    INDEX;
    float sum = 0;
    for (int j = i; j < 16 * n; j += stride[j] + 1) sum += x[j];
    y[i] = sum;
}

KERNEL first_negative(const float *x, float *y, int n)
{
    INDEX;
    int k = 0;
    while (k < 500 && x[k * n + i] >= 0) k++;
    y[i] = k;
}

/* One of the conditions is of a fixed address, but compared with the counter. */
KERNEL by_two_conditions(const int *x, float *y, int n)
{
    INDEX;
    int k = 0;
    for (; k < x[0] && x[k] != 7; k++) y[i] += k;
}

/* In shared memory, of the block's own. */
KERNEL flag_of_block(float *y, int n)
{
    __shared__ int rounds[32];
    rounds[threadIdx.x] = n;
    __syncthreads();
    for (int k = 0; k < rounds[(threadIdx.x + 1) & 31]; k++) y[threadIdx.x] += k;
}

/* --- that may wait */

KERNEL wait_flag(const int *flag, float *y, int n)
{
    INDEX;
    while (flag[0] == 0) y[i] = 1;
}

KERNEL wait_flag_in_block(const int *flag, float *y, int n)
{
    while (flag[0] == 0) __syncthreads();
    INDEX;
    y[i] = 1;
}

KERNEL wait_own_flag(const int *flag, float *y, int n)
{
    INDEX;
    int rounds = 0;
    while (flag[i] == 0) {
        y[i] = rounds;
        rounds++;
    }
}

/* What is carried to the next iteration is only what was loaded. */
KERNEL wait_value(const int *flag, float *y, int n)
{
    INDEX;
    for (int seen = flag[0], last = 0; seen > last; last = seen, seen = flag[0]) y[i] = last;
}

KERNEL wait_counted(const int *flag, float *y, int n)
{
    INDEX;
    for (int k = 0; k < n; k += flag[0]) y[i] = k;
}

KERNEL wait_counting(const int *flag, float *y, int n)
{
    INDEX;
    int k = 0;
    while (k < n) {
        y[i] = k;
        if (flag[0]) {
            y[i] += 1;
            k++;
        }
    }
}

KERNEL wait_or_give_up(const int *flag, float *y, int n)
{
    INDEX;
    for (int k = 0; k < 1000 && flag[0] == 0; k++) y[i] = k;
}

KERNEL wait_or_give_up_at_once(const int *flag, float *y, int n)
{
    INDEX;
    int k = 0, done;
    do {
        y[i] = k++;
        done = (flag[0] != 0) | (k >= 1000);
    } while (!done);
}

KERNEL wait_packed(const int *flag, float *y, int n)
{
    INDEX;
    long long both;
    for (int k = 0;; k++) {
        y[i] = k;
        asm volatile("mov.b64 %0, {%1, %2};" : "=l"(both) : "r"(flag[0]), "r"(flag[1]));
        if (both) break;
    }
}

KERNEL wait_branched(const int *flag, float *y, int n)
{
    INDEX;
    int done = 0, k = 0;
    do {
        y[i] = k++;
        if (flag[0] > 5) {
            y[i] = 7;
            done = flag[1];
        }
        asm volatile("" : "+r"(done));
    } while (!done);
}

KERNEL wait_table(const int *flag, float *y, int n)
{
    INDEX;
    for (int k = 0;; k++) {
        y[i] = k;
        asm volatile("{ .reg .u32 w; ld.global.u32 w, [%0];\nways: .branchtargets again, done;\n"
                     "brx.idx w, ways;\ndone: ret;\nagain: }" ::"l"(flag) : "memory");
    }
}

KERNEL wait_with_inner(const int *flag, float *y, int n)
{
    INDEX;
    int at;
    do {
        at = 0;
#pragma unroll 1
        for (int k = 0; k < n; k++) {
            y[i] += k;
            at = at * 3 & 8;
        }
    } while (flag[at] == 0);
}

KERNEL wait_fresh(const int *flag, float *y, int n)
{
    INDEX;
    for (int k = 0; __ldcg(flag + k) == 0; k++) y[i] = k;
}

KERNEL wait_relaxed(const int *flag, float *y, int n)
{
    INDEX;
    int w, k = 0;
    do {
        asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(w) : "l"(flag + k) : "memory");
        k++;
    } while (w == 0);
    y[i] = w;
}

KERNEL wait_atomic(int *flag, float *y, int n)
{
    INDEX;
    for (int k = 0; atomicAdd(flag + k, 0) == 0; k++) y[i] = k;
}
