// SPDX-License-Identifier: Apache-2.0
// Parameters that are read through their address.
// launch by_address grid 2 1 1 block 32 1 1 args i32:50 p:4096 p:4096 i32:3 f32:1.5
// launch by_generic grid 2 1 1 block 32 1 1 args i32:50 p:4096 p:4096 i32:3 f32:1.5
// launch by_copy grid 2 1 1 block 32 1 1 args i32:50 p:4096 p:4096 i32:3 f32:1.5
// launch by_index grid 2 1 1 block 32 1 1 args p:4096 i32:3 i32:1 i32:4 i32:1 i32:50 i32:2
// launch sizes_by_index grid 2 1 1 block 32 1 1 args p:4096 p:4096 i32:40 i32:50 i32:1 i32:7
// launch pointers_by_index grid 2 1 1 block 32 1 1 args p:4096 p:4096 p:4096 i32:1 i32:50
// launch narrow_words grid 2 1 1 block 32 1 1 args p:4096 i32:-2 i32:65537
// launch of_two grid 2 1 1 block 32 1 1 args p:4096 i32:1 i32:2 i32:3 i32:4 i32:50 i32:0
// launch changed_copy grid 2 1 1 block 32 1 1 args p:4096 i32:1 i32:2 i32:3 i32:4 i32:50 i32:0
// launch walked grid 2 1 1 block 32 1 1 args p:4096 i32:1 i32:2 i32:3 i32:4 i32:50 i32:0
// analyse chosen grid 2 1 1 block 32 1 1 args p:4096 p:4096 i32:1 i32:2 i32:3 i32:4
// analyse stored grid 2 1 1 block 32 1 1 args p:4096 i32:1 i32:2
// analyse compared grid 2 1 1 block 32 1 1 args p:4096 i32:1 i32:2

#define KERNEL extern "C" __global__ void
#define IN_PLACE const __grid_constant__
#define I (int)(blockIdx.x * blockDim.x + threadIdx.x)

struct closure {
    int n;
    float *to;
    const float *from;
    int distance;
    float factor;
    __device__ void operator()(int i) const
    {
        if (i < n) to[i + distance] = factor * from[i];
    }
};

static __device__ __noinline__ void call(const closure *closure, int i)
{
    (*closure)(i);
}

KERNEL by_address(IN_PLACE closure closure)
{
    closure(I);
}

KERNEL by_generic(IN_PLACE closure closure)
{
    call(&closure, I);
}

KERNEL by_copy(closure closure)
{
    call(&closure, I);
}

struct table {
    int *to;
    int of[4];
    int n, at;
};

KERNEL by_index(IN_PLACE table table)
{
    if (I < table.n) table.to[I] = table.of[I & 3];
}

/* The size is one of several, as another word says. */
struct sizes {
    int *to;
    const int *from;
    int of[2];
    int at, add;
};

KERNEL sizes_by_index(IN_PLACE sizes sizes)
{
    if (I < sizes.of[sizes.at]) sizes.to[I] = sizes.from[I] + sizes.add;
}

struct pointers {
    int *of[3];
    int at, n;
};

KERNEL pointers_by_index(IN_PLACE pointers pointers)
{
    if (I < pointers.n) pointers.of[pointers.at][I] = pointers.of[2][I];
}

struct narrow {
    long *to;
    union {
        int word[2];
        signed char byte[8];
        unsigned short half[4];
        long whole;
    };
};

KERNEL narrow_words(IN_PLACE narrow narrow)
{
    narrow.to[I] = narrow.word[I & 1] + narrow.byte[1] + narrow.half[0] * 3 + narrow.half[I & 3] + narrow.whole;
}

struct four {
    int of[4];
};

KERNEL of_two(int *to, IN_PLACE four a, int n, int at)
{
    const int *from = I & 1 ? &a.of[at] : &a.of[2];
    if (I < n) to[I] = from[I & 1];
}

KERNEL changed_copy(int *to, four a, int n, int at)
{
    a.of[1] = I;
    if (I < n) a.of[(I + at) & 3] += 5;
    if (I < n) to[I] = a.of[I & 3] + a.of[1] * a.of[2];
}

KERNEL walked(int *to, IN_PLACE four a, int n, int at)
{
    int sum = 0;
#pragma unroll 1
    for (const int *from = &a.of[at]; from != a.of + 4; from++) sum += *from;
    if (I < n) to[I] = sum;
}

KERNEL chosen(int *to, const int *other, IN_PLACE four a)
{
    const int *from = I & 1 ? a.of : other;
    asm volatile("" : "+l"(from));
    to[I] = from[I & 3];
}

KERNEL stored(const int **to, IN_PLACE long a)
{
    to[I] = (const int *)&a;
}

KERNEL compared(int *to, IN_PLACE long a)
{
    to[I] = (long)&a % 3;
}
