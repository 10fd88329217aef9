/* FNV-1a, 64 bits: identifies configurations and data sets. Not for untrusted keys. */
#ifndef RUE_HASH_H
#define RUE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define RUE_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t rue_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
