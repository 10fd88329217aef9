#include "data_digest.h"

#include <string.h>

#include "crc32c.h"
#include "hash.h"
#include "random.h"

void rue_data_digest_add(struct rue_data_digest *digest, const void *data, size_t bytes, int32_t label,
                         const char *class_name)
{
    /* Two checksums of four bytes, from different beginnings, rather than a hash that takes the bytes one by
     * one. */
    const uint32_t crcs[] = {rue_crc32c(0, data, bytes), rue_crc32c(0x9E3779B9, data, bytes / 2)};
    uint64_t length = bytes, hash = rue_hash(RUE_HASH_START, crcs, sizeof crcs);
    hash = rue_hash(hash, &length, sizeof length);
    hash = class_name ? rue_hash(hash, class_name, strlen(class_name) + 1)
                      : rue_hash(hash, &label, sizeof label);
    digest->items++;
    digest->sum += rue_mix64(hash);
}
