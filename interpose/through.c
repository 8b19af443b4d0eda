/* SPDX-License-Identifier: Apache-2.0
 * See through.h. */
#include "interpose/through.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/shim.h"

#include <stdint.h>

enum { MOST_PASSED = 1024 /* waits */, LONGEST_NS = 1000000000 };

atomic_bool through_is_on, through_is_owed;
static atomic_bool has_unknown;
static uint32_t passed;   /* since the last real wait */
static int64_t passed_ns; /* the first of them */

void through_start(void)
{
    if (!setting_is_on("KFUSE_THROUGH_SYNC")) return;
    has_unknown = true; /* what came before */
    through_is_on = true;
    shim_attention_set(ATTENTION_QUEUE);
}

void through_end(const char *reason)
{
    if (atomic_exchange(&through_is_on, false))
        log_write(LOG_INFO, "through", "waits are real from now on: %s", reason);
}

void through_meet_unknown(void)
{
    if (through_on()) has_unknown = true;
}

bool through_pass(void)
{
    int64_t now = shim_now_ns();
    if (has_unknown || passed == MOST_PASSED || (passed && now - passed_ns > LONGEST_NS)) return false;
    if (!passed++) passed_ns = now;
    through_is_owed = true;
    shim_count(COUNT_PASSED);
    return true;
}

void through_settled(void)
{
    through_is_owed = false;
    passed = 0;
}

void through_waited(void)
{
    has_unknown = false;
    through_settled();
}

bool through_has_unknown(void)
{
    return has_unknown;
}

void through_fork_child(void)
{
    through_is_on = through_is_owed = false;
}
