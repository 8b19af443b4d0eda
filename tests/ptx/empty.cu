// SPDX-License-Identifier: Apache-2.0
__global__ void increment(float *x)
{
    x[threadIdx.x] += 1.0f;
}

int main()
{
    return 0;
}
