/* SPDX-License-Identifier: Apache-2.0
 * Renamed arrays against the fake driver: which buffer a use reads and writes, and that every array is copied
 * back before anybody could see it. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <pthread.h>
#include <sys/wait.h>

/* The program's array, the second buffer of 512 bytes behind it, and the distance between the two. */
#define ARRAY           "10000"
#define BUFFER          "12000"
#define FORTH           "0 2000"
#define BACK            "2000 0"
#define GET_BUFFER      "cuMemAlloc_v2 512"
#define RESTORE         "cuMemcpyDtoDAsync_v2 " ARRAY " " BUFFER " 256 0"
#define COPY            "cuMemcpyDtoH_v2 " ARRAY " 8"
#define USED(distances) "launch renamed 4,1,1 32,1,1 0 0 " ARRAY " 5 " distances

static CUdeviceptr array;
static size_t at; /* the next line */

#define NEXT(text) CHECK_LINE(at++, text)
#define NO_MORE    CHECK(fake_count() == at)

static void start(void)
{
    start_program();
    OK(cuMemAlloc_v2(&array, 4096));
    CHECK(array == 0x10000);
    fake_clear();
}

static void use_in(CUstream stream)
{
    OK(launch_a(array, 1, stream));
    OK(launch_b(array, 5, stream));
}
#define use() use_in(NULL)

static void look(void)
{
    char bytes[8];
    OK(cuMemcpyDtoH_v2(bytes, array, sizeof bytes));
}

/* --- chains --- */

static void chains(void)
{
    start();
    for (int length = 1; length <= 5; length++) {
        for (int i = 0; i < length; i++) {
            use();
            if (length == 1) NEXT(GET_BUFFER);
            NEXT(i % 2 ? USED(BACK) : USED(FORTH));
        }
        NO_MORE;
        look();
        if (length % 2) NEXT(RESTORE);
        NEXT(COPY);
        look(); /* only once */
        NEXT(COPY);
        NO_MORE;
    }
}

static void check_chains(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "fused 15\n") && file_has("stats", "renamed 15\n"));
    EXPECT(file_has("stats", "restores 3\n") && file_has("stats", "timer_releases 0\n"));
}

/* The place in the buffer has the alignment of the range. */
static void alignment(void)
{
    start();
    array += 0x150;
    use();
    NEXT("cuMemAlloc_v2 1024"); /* they cross a boundary of 512 */
    NEXT("launch renamed 4,1,1 32,1,1 0 0 10150 5 " FORTH);
    look();
    NEXT("cuMemcpyDtoDAsync_v2 10150 12150 256 0");
}

/* The second buffer begins as a copy, and what is not written is not copied back. */
static void boxes(void)
{
    start();
    use();
    NEXT(GET_BUFFER);
    NEXT("cuMemcpyDtoDAsync_v2 " BUFFER " " ARRAY " 256 0");
    NEXT(USED(FORTH));
    use();
    NEXT(USED(BACK));
    use();
    NEXT(USED(FORTH));
    look();
    NEXT("cuMemcpy3DAsync_v2 10050 12050 16,3,1 64,3 0");
    NEXT(COPY);
    use();
    NEXT("cuMemcpyDtoDAsync_v2 " BUFFER " " ARRAY " 256 0");
    NEXT(USED(FORTH));
    use();
    NEXT(USED(BACK));
    look(); /* nothing is away, but others may write from here on */
    NEXT(COPY);
    use();
    NEXT("cuMemcpyDtoDAsync_v2 " BUFFER " " ARRAY " 256 0");
    NEXT(USED(FORTH));
    OK(launch_c(7, NULL));
    NEXT("cuMemcpy3DAsync_v2 10050 12050 16,3,1 64,3 0");
    NEXT(C_LINE("7"));
    NO_MORE;
}

/* Of the same range, but it writes other bytes: the buffers may differ in what it leaves. */
static void another_box(void)
{
    start();
    use();
    at = fake_count();
    OK(launch_b(array, 1, NULL));
    OK(launch_b(array, 5, NULL));
    NEXT("cuMemcpy3DAsync_v2 10050 12050 16,3,1 64,3 0");
    NEXT("cuMemcpyDtoDAsync_v2 " BUFFER " " ARRAY " 256 0");
    NEXT("launch box_bb 4,1,1 32,1,1 0 0 " ARRAY " 5 " FORTH);
    NO_MORE;
}

/* --- whoever could see it --- */

static void other_launches(void)
{
    CUdeviceptr pointer = 0x9000;
    int value = 3;
    void *arguments[] = {&pointer, &value};
    start();
    use();
    at = fake_count();
    OK(launch_c(7, NULL)); /* in no pattern */
    NEXT(RESTORE);
    NEXT(C_LINE("7"));
    use();
    NEXT(USED(FORTH));
    OK(launch_b(1, 2, NULL)); /* begins no pattern */
    NEXT(RESTORE);
    NEXT(B_LINE("1 2"));
    use();
    NEXT(USED(FORTH));
    OK(launch_a(0x9000, 3, NULL));
    NO_MORE; /* held */
    OK(launch_a(0x9000, 4, NULL));
    NEXT(RESTORE);
    NEXT(A_LINE("9000 3"));
    OK(cuStreamSynchronize(NULL));
    NEXT(A_LINE("9000 4"));
    NEXT("cuStreamSynchronize");
    use();
    NEXT(USED(FORTH));
    OK(cuLaunchKernel(a, 5, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL)); /* another grid */
    NEXT(RESTORE);
    NEXT("launch a 5,1,1 32,1,1 0 0 9000 3");
    use();
    NEXT(USED(FORTH));
    OK(launch_a(array, 1, CU_STREAM_PER_THREAD)); /* not held, unless asked for */
    NEXT(RESTORE);
    NEXT("launch a 4,1,1 32,1,1 0 2 10000 1");
    NO_MORE;
}

static void *wait_elsewhere(void *unused)
{
    OK(cuCtxSetCurrent(context));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return unused;
}

/* What is away in a thread's own default stream: another thread copies it back in the legacy one. */
static void own_stream(void)
{
    pthread_t thread;
    start();
    use_in(CU_STREAM_PER_THREAD);
    NEXT(GET_BUFFER);
    NEXT("launch renamed 4,1,1 32,1,1 0 2 " ARRAY " 5 " FORTH);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    NEXT("cuMemcpyDtoDAsync_v2 " ARRAY " " BUFFER " 256 2");
    NEXT("cuStreamSynchronize");
    use_in(CU_STREAM_PER_THREAD);
    NEXT("launch renamed 4,1,1 32,1,1 0 2 " ARRAY " 5 " FORTH);
    CHECK(!pthread_create(&thread, NULL, wait_elsewhere, NULL) && !pthread_join(thread, NULL));
    NEXT("cuMemcpyDtoDAsync_v2 " ARRAY " " BUFFER " 256 1");
    NEXT("cuStreamSynchronize");
    NO_MORE;
}

/* The buffer is still read by the legacy stream, though its own one has nothing. */
static void buffer_of_own_stream(void)
{
    pthread_t thread;
    CUstream stream;
    start();
    use_in(CU_STREAM_PER_THREAD);
    NEXT(GET_BUFFER);
    CHECK(!pthread_create(&thread, NULL, wait_elsewhere, NULL) && !pthread_join(thread, NULL));
    OK(cuStreamCreate(&stream, 0));
    at = fake_count();
    use_in(stream);
    NEXT(GET_BUFFER);
}

/* A group that renames nothing, and the same group elsewhere: neither has anything to do with the array. */
static void other_groups(void)
{
    CUdeviceptr other;
    start();
    OK(cuMemAlloc_v2(&other, 8192));
    fake_clear();
    use();
    NEXT(GET_BUFFER);
    at++;
    OK(launch_c(other, NULL));
    OK(launch_c(other + 4096, NULL));
    NEXT("launch cc 4,1,1 32,1,1 0 0 12000 13000");
    use();
    NEXT("launch renamed 4,1,1 32,1,1 0 0 " ARRAY " 5 5000 0"); /* and is where it was */
    OK(launch_a(other, 1, NULL));
    OK(launch_b(other, 5, NULL));
    NEXT("launch renamed 4,1,1 32,1,1 0 0 12000 5 0 3000"); /* with the same buffer */
    use();
    NEXT(GET_BUFFER);
    NEXT("launch renamed 4,1,1 32,1,1 0 0 " ARRAY " 5 0 7000");
    look();
    NEXT("cuMemcpyDtoDAsync_v2 10000 17000 256 0");
    NEXT("cuMemcpyDtoDAsync_v2 12000 15000 256 0");
    NEXT(COPY);
    NO_MORE;
}

static void calls(void)
{
    size_t limit;
    void *function = NULL;
    CUdeviceptr memory;
    start();
    OK(cuGetProcAddress_v2("cuFuture", &function, 99000, 0, NULL));
    use();
    at = fake_count();
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    OK(cuMemAlloc_v2(&memory, 64));
    CHECK(fake_count() == at + 2); /* neither can see it */
    at += 2;
    CHECK(((fake_future_function)function)(1, 2, 3, 4, 5, 6, 7, 0.5, 0.25) == 7);
    NEXT(RESTORE);
    NEXT("future 1 2 3 4 5 6 7 0.5 0.25");
    use();
    at++;
    OK(cuEventRecord(NULL, NULL));
    NEXT(RESTORE);
    NEXT("cuEventRecord");
    use();
    at++;
    OK(cuMemFree_v2(array));
    NEXT(RESTORE);
    NEXT("cuMemFree_v2 " ARRAY);
    NO_MORE;
}

static void captures(void)
{
    start();
    use();
    at = fake_count();
    OK(cuStreamBeginCapture_v2((CUstream)0x70, CU_STREAM_CAPTURE_MODE_GLOBAL));
    NEXT(RESTORE);
    NEXT("cuStreamBeginCapture_v2 0");
    use();
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    OK(cuStreamEndCapture((CUstream)0x70, NULL));
    NEXT("cuStreamEndCapture");
    use();
    NEXT(USED(FORTH));
    NO_MORE;
}

/* --- streams and threads --- */

#define USED_IN(stream, distances) "launch renamed 4,1,1 32,1,1 0 " stream " " ARRAY " 5 " distances

static void streams(void)
{
    start();
    use_in((CUstream)0x70);
    NEXT(GET_BUFFER);
    NEXT(USED_IN("70", FORTH));
    fake_set_busy(1);
    OK(launch_a(array, 1, (CUstream)0x71));
    NEXT("cuMemcpyDtoDAsync_v2 " ARRAY " " BUFFER " 256 70");
    OK(launch_b(array, 5, (CUstream)0x71));
    NEXT(GET_BUFFER); /* the first one is still being read */
    NEXT(USED_IN("71", "0 4000"));
    use_in((CUstream)0x71);
    NEXT(USED_IN("71", "4000 0"));
    use_in((CUstream)0x70);
    NEXT(USED_IN("70", FORTH));
    OK(cuStreamSynchronize((CUstream)0x70));
    at += 2;
    fake_set_busy(0);
    use_in((CUstream)0x72); /* both are idle */
    NEXT(USED_IN("72", FORTH));
    NO_MORE;
}

/* A stream that comes later may have its number while its work still runs. */
static void streams_that_go(void)
{
    start();
    use_in((CUstream)0x70);
    at = 2;
    OK(cuStreamDestroy_v2((CUstream)0x70));
    NEXT("cuMemcpyDtoDAsync_v2 " ARRAY " " BUFFER " 256 70");
    NEXT("cuEventCreate 2");
    NEXT("cuEventRecord");
    NEXT("cuStreamDestroy_v2 70");
    fake_set_busy(1);
    use_in((CUstream)0x70);
    NEXT(GET_BUFFER);
    NEXT(USED_IN("70", "0 4000"));
    OK(cuStreamSynchronize((CUstream)0x70));
    at += 2;
    fake_set_busy(0);
    use_in((CUstream)0x71);
    NEXT("cuEventDestroy_v2");
    NEXT(USED_IN("71", FORTH));
    NO_MORE;
}

static void *synchronize(void *unused)
{
    (void)unused; /* no context is current here */
    OK(cuStreamSynchronize(NULL));
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    start();
    use();
    at = fake_count();
    pthread_create(&thread, NULL, synchronize, NULL);
    pthread_join(thread, NULL);
    NEXT(RESTORE);
    NEXT("cuStreamSynchronize");
    NO_MORE;
}

enum { THREADS = 4, ROUNDS = 300 };
static CUdeviceptr own[THREADS];

static void *use_own(void *index)
{
    uintptr_t id = (uintptr_t)index;
    CUstream stream = id < 2 ? NULL : (CUstream)(0x70 + id);
    char bytes[8];
    OK(cuCtxSetCurrent(context));
    for (int i = 0; i < ROUNDS; i++) {
        OK(launch_a(own[id], 1, stream));
        OK(launch_b(own[id], 5, stream));
        if (i % 7 == 3) OK(launch_a(own[id], 2, CU_STREAM_PER_THREAD));
        if (i % 5 == 1) OK(cuMemcpyDtoH_v2(bytes, own[id], sizeof bytes));
    }
    return NULL;
}

/* The fake driver leaves as much room behind an array. */
static int thread_of(CUdeviceptr address)
{
    return (int)((address - own[0]) / 8192);
}

/* Each thread has an array of its own: when its copy, or its launch as it was, reaches the driver, the array
 * is there; and uses go back and forth. */
static void many_threads(void)
{
    pthread_t thread[THREADS];
    unsigned long long first, second;
    bool is_away[THREADS] = {false};
    unsigned fused = 0;
    start();
    for (int i = 0; i < THREADS; i++) OK(cuMemAlloc_v2(&own[i], 4096));
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, use_own, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    OK(cuStreamSynchronize(NULL));
    for (at = 0; at < fake_count(); at++) {
        const char *line = fake_line(at);
        if (sscanf(line, "launch renamed %*s %*s %*u %*x %llx 5 %llx", &first, &second) == 2) {
            CHECK(is_away[thread_of(first)] == !!second);
            is_away[thread_of(first)] = !second;
            fused++;
        } else if (sscanf(line, "cuMemcpyDtoDAsync_v2 %llx", &first) == 1) {
            CHECK(is_away[thread_of(first)]);
            is_away[thread_of(first)] = false;
        } else if (sscanf(line, "launch a %*s %*s %*u %*x %llx", &first) == 1 ||
                   sscanf(line, "cuMemcpyDtoH_v2 %llx", &first) == 1) {
            CHECK(!is_away[thread_of(first)]);
        }
    }
    for (int i = 0; i < THREADS; i++) CHECK(!is_away[i]);
    CHECK(fused > ROUNDS);
}

static void timer(void)
{
    start();
    for (int i = 1; i <= 2; i++) {
        use();
        at = fake_count() - (fake_count() && !strncmp(fake_line(fake_count() - 1), "cuMemcpy", 8));
        for (int wait = 0; wait < 2000 && fake_count() == at; wait++) usleep(1000);
        NEXT(RESTORE);
        usleep(i == 1 ? 50000 : 0); /* long enough for the timer to go to sleep */
    }
    NO_MORE;
}

static void forks(void)
{
    int status = 1;
    start();
    use();
    pid_t child = fork();
    if (!child) {
        fake_clear();
        look();
        NEXT(COPY); /* the driver is of no use here */
        CUdeviceptr memory;
        fake_limit_memory(8192);
        CHECK(cuMemAlloc_v2(&memory, 8192) == CUDA_ERROR_OUT_OF_MEMORY);
        NEXT("failed cuMemAlloc_v2 8192");
        NO_MORE;
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
    at = fake_count();
    look();
    NEXT(RESTORE);
}

static void at_exit(void)
{
    start();
    use();
    exit(0);
}

static void check_exit(int status)
{
    EXPECT(status == 0 && file_has("calls", RESTORE));
}

/* --- what goes wrong --- */

static void fused_launch_fails(void)
{
    start();
    use();
    at = fake_count();
    fake_fail_launch("renamed", CUDA_ERROR_LAUNCH_FAILED);
    use();
    NEXT("failed " USED(BACK));
    NEXT(RESTORE);
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    fake_fail_launch(NULL, 0);
    use(); /* the group is off */
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    NO_MORE;
}

static void first_launch_fails(void)
{
    start();
    fake_fail_launch("renamed", CUDA_ERROR_LAUNCH_FAILED);
    use();
    NEXT(GET_BUFFER);
    NEXT("failed " USED(FORTH));
    NEXT(A_LINE(ARRAY " 1")); /* nothing to restore */
    NEXT(B_LINE(ARRAY " 5"));
    NO_MORE;
}

static void restore_fails(void)
{
    start();
    use();
    at = fake_count();
    fake_fail_copy(0, CUDA_ERROR_LAUNCH_FAILED);
    char bytes[8];
    CHECK(cuMemcpyDtoH_v2(bytes, array, sizeof bytes) == CUDA_ERROR_LAUNCH_FAILED);
    NEXT("failed " RESTORE);
    NEXT(COPY);
    fake_fail_copy(0, 0);
    use(); /* all is off */
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    NO_MORE;
}

/* A driver that refuses the box gets its rows. */
static void box_by_rows(void)
{
    start();
    use();
    at = fake_count();
    fake_fail_copy(CUDA_ERROR_INVALID_VALUE, 0);
    OK(launch_c(7, NULL));
    NEXT("failed cuMemcpy3DAsync_v2 10050 12050 16,3,1 64,3 0");
    NEXT("cuMemcpyDtoDAsync_v2 10050 12050 16 0");
    NEXT("cuMemcpyDtoDAsync_v2 10090 12090 16 0");
    NEXT("cuMemcpyDtoDAsync_v2 100d0 120d0 16 0");
    NEXT(C_LINE("7"));
    NO_MORE;
}

/* Memory that is no plain allocation, or ends before the range: the members run, and the group stays on. */
static void unfit(void)
{
    start();
    OK(launch_a(0x900000, 1, NULL));
    OK(launch_b(0x900000, 5, NULL));
    NEXT(A_LINE("900000 1"));
    NEXT(B_LINE("900000 5"));
    OK(launch_a(array + 4096 - 255, 1, NULL));
    OK(launch_b(array + 4096 - 255, 5, NULL));
    NEXT(A_LINE("10f01 1"));
    NEXT(B_LINE("10f01 5"));
    use();
    NEXT(GET_BUFFER);
    NEXT(USED(FORTH));
    OK(launch_a(0x900000, 1, NULL));
    OK(launch_b(0x900000, 5, NULL));
    NEXT(RESTORE);
    NEXT(A_LINE("900000 1"));
    NEXT(B_LINE("900000 5"));
    NO_MORE;
}

static void no_memory(void)
{
    start();
    use();
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    use();
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    NO_MORE;
}

static void check_no_memory(int status)
{
    EXPECT(status == 0 && file_has("log", "KFUSE_SHADOW_MB") && file_has("stats", "renamed 0\n"));
}

/* No more than half of what is free. */
static void little_memory(void)
{
    start();
    fake_limit_memory(4096 + 1023);
    use();
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    NO_MORE;
}

static void gives_back(void)
{
    CUdeviceptr memory;
    size_t left, total;
    start();
    fake_limit_memory(8192);
    use();
    NEXT(GET_BUFFER);
    at++;
    OK(cuMemGetInfo_v2(&left, &total));
    CHECK(left == 4096 && total == 8192);
    OK(cuMemAlloc_v2(&memory, 4096));
    NEXT("failed cuMemAlloc_v2 4096");
    NEXT(RESTORE);
    NEXT("cuMemFree_v2 " BUFFER);
    NEXT("cuMemAlloc_v2 4096");
    use();
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    CHECK(cuMemAlloc_v2(&memory, 4096) == CUDA_ERROR_OUT_OF_MEMORY); /* there is nothing left to give */
    NEXT("failed cuMemAlloc_v2 4096");
    NO_MORE;
}

static void check_gives_back(int status)
{
    EXPECT(status == 0 && file_has("log", "group renamed is off: the program needs the memory"));
}

static void context_goes(void)
{
    CUdeviceptr memory;
    start();
    fake_limit_memory(8192);
    use();
    at = fake_count();
    OK(cuCtxDestroy_v2(context));
    NEXT(RESTORE);
    NEXT("cuCtxDestroy_v2");
    CHECK(cuMemAlloc_v2(&memory, 8192) == CUDA_ERROR_OUT_OF_MEMORY);
    NEXT("failed cuMemAlloc_v2 8192"); /* and the buffer, which is gone, is not freed */
    NO_MORE;
}

/* --- verification --- */

static size_t find(const char *text)
{
    while (at < fake_count() && strncmp(fake_line(at), text, strlen(text)) != 0) at++;
    CHECK(at < fake_count());
    return at++;
}

static void verified(void)
{
    start();
    for (int i = 0; i < 2; i++) {
        use();
        find("launch a ");
        find("cuMemcpyHtoD_v2");
        CHECK_LINE(find("launch renamed "), USED(FORTH));
        NEXT(RESTORE);
        find("cuMemcpyDtoH_v2");
    }
    at = fake_count();
    look();
    NEXT(COPY); /* nothing is away */
    use();
    NEXT(USED(FORTH));
    use();
    NEXT(USED(BACK));
    NO_MORE;
}

/* What is away comes back before another group is verified. */
static void verified_after_use(void)
{
    CUdeviceptr other;
    start();
    OK(cuMemAlloc_v2(&other, 8192));
    for (int i = 0; i < 3; i++) use();
    at = fake_count();
    CHECK_LINE(at - 1, USED("0 5000"));
    OK(launch_c(other, NULL));
    OK(launch_c(other + 4096, NULL));
    NEXT("cuMemcpyDtoDAsync_v2 10000 15000 256 0");
    find("cuMemcpyDtoH_v2");
    find("launch _Z1cPf ");
    find("launch cc ");
}

static void check_verified(int status)
{
    EXPECT(status == 0 && file_has("stats", "verified renamed uses 2 mismatches 0"));
}

static void verified_without_memory(void)
{
    start();
    use();
    at = fake_count();
    use();
    NEXT(A_LINE(ARRAY " 1"));
    NEXT(B_LINE(ARRAY " 5"));
    NO_MORE;
}

static void check_verified_without_memory(int status)
{
    EXPECT(status == 0 && file_has("stats", "because its launch failed with CUDA error 2"));
}

/* --- plans --- */

static void plan_renamed(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_RENAME});
}

static void plan_own_stream(void)
{
    plan_renamed();
    setenv("KFUSE_OWN_STREAM", "1", 1);
}

static void plan_box(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_BOX});
}

static void plan_two(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_RENAME | FIXTURE_CC});
}

static void plan_short_timer(void)
{
    plan_renamed();
    setenv("KFUSE_HOLD_US", "200", 1);
}

static void plan_shortest_timer(void)
{
    plan_renamed();
    setenv("KFUSE_HOLD_US", "20", 1);
}

static void plan_logged(void)
{
    plan_renamed();
    setenv("FAKE_LOG", in_folder("calls"), 1);
}

static void plan_no_budget(void)
{
    plan_renamed();
    setenv("KFUSE_SHADOW_MB", "0", 1);
}

static void plan_verified(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_RENAME, .written = 256});
    setenv("KFUSE_VERIFY", "2", 1);
}

static void plan_two_verified(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_RENAME | FIXTURE_CC, .written = 256});
    setenv("KFUSE_VERIFY", "2", 1);
}

static void plan_two_boxes(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_BOX | FIXTURE_BOX_BB});
}

static void plan_verified_no_budget(void)
{
    plan_verified();
    setenv("KFUSE_SHADOW_MB", "0", 1);
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"chains", chains, plan_renamed, check_chains},
        {"alignment", alignment, plan_renamed, NULL},
        {"boxes", boxes, plan_box, NULL},
        {"another_box", another_box, plan_two_boxes, NULL},
        {"other_launches", other_launches, plan_renamed, NULL},
        {"own_stream", own_stream, plan_own_stream, NULL},
        {"buffer_of_own_stream", buffer_of_own_stream, plan_own_stream, NULL},
        {"other_groups", other_groups, plan_two, NULL},
        {"calls", calls, plan_renamed, NULL},
        {"captures", captures, plan_renamed, NULL},
        {"streams", streams, plan_renamed, NULL},
        {"streams_that_go", streams_that_go, plan_renamed, NULL},
        {"threads", threads, plan_renamed, NULL},
        {"many_threads", many_threads, plan_shortest_timer, NULL},
        {"timer", timer, plan_short_timer, NULL},
        {"forks", forks, plan_renamed, NULL},
        {"at_exit", at_exit, plan_logged, check_exit},
        {"fused_launch_fails", fused_launch_fails, plan_renamed, NULL},
        {"first_launch_fails", first_launch_fails, plan_renamed, NULL},
        {"restore_fails", restore_fails, plan_renamed, NULL},
        {"box_by_rows", box_by_rows, plan_box, NULL},
        {"unfit", unfit, plan_renamed, NULL},
        {"no_memory", no_memory, plan_no_budget, check_no_memory},
        {"little_memory", little_memory, plan_renamed, NULL},
        {"gives_back", gives_back, plan_renamed, check_gives_back},
        {"context_goes", context_goes, plan_renamed, NULL},
        {"verified", verified, plan_verified, check_verified},
        {"verified_after_use", verified_after_use, plan_two_verified, NULL},
        {"verified_without_memory", verified_without_memory, plan_verified_no_budget,
         check_verified_without_memory},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
