/* SPDX-License-Identifier: Apache-2.0
 * PTX text: parsed, control flow, printed, read again. */
#include "tests/fuzz/harness.h"
#include "tests/ptx/reread.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!reread_is_stable((const char *)bytes, size)) abort();
    return 0;
}
