/* SPDX-License-Identifier: Apache-2.0
 * See the header. */
#include "tests/common/patched_file.h"

#include <stdlib.h>

bool patched_file_read(struct patched_file *self, const char *path)
{
    self->file = fopen(path, "r+b");
    if (!self->file || fseek(self->file, 0, SEEK_END) != 0) return false;
    self->size = (size_t)ftell(self->file);
    self->bytes = malloc(self->size + 1);
    rewind(self->file);
    return self->bytes && fread(self->bytes, 1, self->size, self->file) == self->size;
}

bool patched_file_write(struct patched_file *self)
{
    rewind(self->file);
    bool is_written = fwrite(self->bytes, 1, self->size, self->file) == self->size;
    free(self->bytes);
    return fclose(self->file) == 0 && is_written;
}
