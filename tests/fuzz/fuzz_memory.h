/* What the fuzzer gives, as a file that is read in order. */
#ifndef RUE_FUZZ_MEMORY_H
#define RUE_FUZZ_MEMORY_H

#include <string.h>

#include "byte_stream.h"

static inline rue_status fuzz_memory_read(void *context, void *into, uint64_t bytes, uint64_t offset,
                                          rue_error *error)
{
    (void)error;
    memcpy(into, (const char *)context + offset, bytes);
    return RUE_OK;
}

static inline struct rue_byte_input fuzz_memory_input(const void *data, size_t bytes)
{
    return (struct rue_byte_input){"input", bytes, fuzz_memory_read, (void *)data};
}

#endif
