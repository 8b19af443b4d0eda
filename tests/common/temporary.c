/* SPDX-License-Identifier: Apache-2.0
 * See the header. */
#include "tests/common/temporary.h"

#include <stdlib.h>
#include <unistd.h>

char temporary_path[] = "/tmp/kfuse-test-XXXXXX";

int temporary_make(void **state)
{
    (void)state;
    int file = mkstemp(temporary_path);
    return file < 0 ? -1 : close(file);
}

int temporary_remove(void **state)
{
    (void)state;
    return unlink(temporary_path);
}
