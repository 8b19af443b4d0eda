/* Fused by kfuse; each member's arithmetic is the PTX that it was. */
extern "C" __global__ void __launch_bounds__(256)
chain_of_two(unsigned long long m0_at_0_8, unsigned int m0_at_8_4, unsigned int m0_at_12_4, unsigned int m1_at_8_4, unsigned int m1_at_12_4)
{

    /* member 0: chain_step, grid (4,1,1), block (256,1,1), PTX lines 175-207 */
    unsigned int m0_value_15_0 = 0;
    asm volatile(
        "{\n"
        ".reg .pred %%m0_p1_1;\n"
        ".reg .f32 %%m0_f1_3, %%m0_f2_4, %%m0_f3_5, %%m0_f4_6;\n"
        ".reg .b32 %%m0_r1_8, %%m0_r2_9, %%m0_r3_10, %%m0_r4_11, %%m0_r5_12;\n"
        ".reg .b64 %%m0_rd1_14, %%m0_rd2_15, %%m0_rd3_16, %%m0_rd4_17;\n"
        ".reg .b64 %%m0_word_0;\n"
        "mov.b64 %%m0_word_0, %1;\n"
        ".reg .b32 %%m0_word_1;\n"
        "mov.b32 %%m0_word_1, %2;\n"
        ".reg .b32 %%m0_word_2;\n"
        "mov.b32 %%m0_word_2, %3;\n"
        ".reg .b32 %%m0_word_3;\n"
        "mov.b32 %%m0_word_3, %4;\n"
        "mov.b64 %%m0_rd1_14, %%m0_word_0;\n"
        "mov.b32 %%m0_f1_3, %%m0_word_1;\n"
        "mov.b32 %%m0_f2_4, %%m0_word_2;\n"
        "mov.b32 %%m0_r2_9, %%m0_word_3;\n"
        "mov.u32 %%m0_r3_10, %%ctaid.x;\n"
        "mov.u32 %%m0_r4_11, %%ntid.x;\n"
        "mov.u32 %%m0_r5_12, %%tid.x;\n"
        "mad.lo.s32 %%m0_r1_8, %%m0_r3_10, %%m0_r4_11, %%m0_r5_12;\n"
        "setp.ge.s32 %%m0_p1_1, %%m0_r1_8, %%m0_r2_9;\n"
        "@%%m0_p1_1 exit;\n"
        "cvta.to.global.u64 %%m0_rd2_15, %%m0_rd1_14;\n"
        "mul.wide.s32 %%m0_rd3_16, %%m0_r1_8, 4;\n"
        "add.s64 %%m0_rd4_17, %%m0_rd2_15, %%m0_rd3_16;\n"
        "ld.global.f32 %%m0_f3_5, [%%m0_rd4_17];\n"
        "fma.rn.f32 %%m0_f4_6, %%m0_f3_5, %%m0_f1_3, %%m0_f2_4;\n"
        "mov.b32 %0, %%m0_f4_6;\n"
        "m0_L0:\n"
        "m0_end:\n"
        "}\n"
        : "=r"(m0_value_15_0)
        : "l"((unsigned long long)m0_at_0_8), "r"((unsigned int)m0_at_8_4), "r"((unsigned int)m0_at_12_4), "r"((unsigned int)(unsigned int)1000u)
        : "memory");

    /* member 1: chain_step, grid (8,1,1), block (128,1,1), PTX lines 175-207 */
    {
        const unsigned int global_x = (unsigned int)blockIdx.x * 256u + threadIdx.x;
        const unsigned int global_y = 0;
        const unsigned int global_z = 0;
        (void)global_x, (void)global_y, (void)global_z;
        {
        const unsigned int tid_x = global_x % 128u;
        const unsigned int ctaid_x = global_x / 128u;
        asm volatile(
            "{\n"
            ".reg .pred %%m1_p1_1;\n"
            ".reg .f32 %%m1_f1_3, %%m1_f2_4, %%m1_f3_5, %%m1_f4_6;\n"
            ".reg .b32 %%m1_r1_8, %%m1_r2_9, %%m1_r3_10, %%m1_r4_11, %%m1_r5_12;\n"
            ".reg .b64 %%m1_rd1_14, %%m1_rd2_15, %%m1_rd3_16, %%m1_rd4_17;\n"
            ".reg .b64 %%m1_word_0;\n"
            "mov.b64 %%m1_word_0, %0;\n"
            ".reg .b32 %%m1_word_1;\n"
            "mov.b32 %%m1_word_1, %1;\n"
            ".reg .b32 %%m1_word_2;\n"
            "mov.b32 %%m1_word_2, %2;\n"
            ".reg .b32 %%m1_word_3;\n"
            "mov.b32 %%m1_word_3, %3;\n"
            ".reg .b32 %%m1_in_0;\n"
            "mov.b32 %%m1_in_0, %4;\n"
            ".reg .b32 %%m1_tid_x;\n"
            "mov.b32 %%m1_tid_x, %5;\n"
            ".reg .b32 %%m1_ctaid_x;\n"
            "mov.b32 %%m1_ctaid_x, %6;\n"
            "mov.b64 %%m1_rd1_14, %%m1_word_0;\n"
            "mov.b32 %%m1_f1_3, %%m1_word_1;\n"
            "mov.b32 %%m1_f2_4, %%m1_word_2;\n"
            "mov.b32 %%m1_r2_9, %%m1_word_3;\n"
            "mov.u32 %%m1_r3_10, %%m1_ctaid_x;\n"
            "mov.u32 %%m1_r4_11, 128;\n"
            "mov.u32 %%m1_r5_12, %%m1_tid_x;\n"
            "mad.lo.s32 %%m1_r1_8, %%m1_r3_10, %%m1_r4_11, %%m1_r5_12;\n"
            "setp.ge.s32 %%m1_p1_1, %%m1_r1_8, %%m1_r2_9;\n"
            "cvta.to.global.u64 %%m1_rd2_15, %%m1_rd1_14;\n"
            "mul.wide.s32 %%m1_rd3_16, %%m1_r1_8, 4;\n"
            "add.s64 %%m1_rd4_17, %%m1_rd2_15, %%m1_rd3_16;\n"
            "mov.b32 %%m1_f3_5, %%m1_in_0;\n"
            "fma.rn.f32 %%m1_f4_6, %%m1_f3_5, %%m1_f1_3, %%m1_f2_4;\n"
            "st.global.f32 [%%m1_rd4_17], %%m1_f4_6;\n"
            "m1_L0:\n"
            "m1_end:\n"
            "}\n"
            :
            : "l"((unsigned long long)m0_at_0_8), "r"((unsigned int)m1_at_8_4), "r"((unsigned int)m1_at_12_4), "r"((unsigned int)(unsigned int)1000u), "r"(m0_value_15_0), "r"(tid_x), "r"(ctaid_x)
            : "memory");
        }
    }
}
