/* SPDX-License-Identifier: Apache-2.0
 * The timer thread. While launches are being held it looks every KFUSE_HOLD_US, so that holding costs no
 * system call; after a while without any it sleeps until it is needed, and then ends. */
#include "interpose/timer.h"

#include "common/setting.h"

#include <sys/prctl.h>
#include <time.h>

enum { DEFAULT_HOLD_US = 100, LONGEST_HOLD_US = 60000000, LONGEST_LOOK_US = 50000 };
enum { IDLE_LOOKS = 50, IDLE_US = 50000, SLACK_NS = 1000 };

static struct {
    const struct timer_source *source;
    long hold_us, look_us; /* of a long hold time only a part is slept at once */
} timer;

static bool is_anything_held(void)
{
    return timer.source->oldest() != 0;
}

static void look(void)
{
    const struct timespec pause = {.tv_nsec = timer.look_us * 1000};
    uint64_t seen = 0;
    long seen_us = 0;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    for (long idle = 0; idle <= IDLE_LOOKS && idle * timer.look_us <= IDLE_US;) {
        nanosleep(&pause, NULL);
        uint64_t oldest = timer.source->oldest();
        seen_us = oldest == seen ? seen_us + timer.look_us : 0;
        seen = oldest;
        idle = oldest ? 0 : idle + 1;
        /* Who is alone looks at nothing any more: at exit all is issued. */
        if (oldest && timer.look_us == LONGEST_LOOK_US && own_thread_is_last()) return;
        if (!oldest || seen_us < timer.hold_us) continue;
        timer.source->release(oldest);
        seen_us = 0;
    }
}

struct own_thread timer_thread = {.state = OWN_THREAD_ENDED,
                                  .name = "kfuse timer",
                                  .patience_ns = OWN_THREAD_PATIENCE_NS,
                                  .has_work = is_anything_held,
                                  .work = look};

void timer_prepare(const struct timer_source *source)
{
    timer.source = source;
    timer.hold_us = setting_number("KFUSE_HOLD_US", 1, LONGEST_HOLD_US, DEFAULT_HOLD_US);
    timer.look_us = timer.hold_us < LONGEST_LOOK_US ? timer.hold_us : LONGEST_LOOK_US;
}

int64_t timer_period_ns(void)
{
    return timer.hold_us * INT64_C(1000);
}

void timer_fork_child(void)
{
    own_thread_fork_child(&timer_thread);
}
