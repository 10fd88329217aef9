/* What a data set holds, whatever its format and its order: two sets with the same items, labels and all,
 * have the same digest. */
#ifndef RUE_DATA_DIGEST_H
#define RUE_DATA_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct rue_data_digest {
    uint64_t items;
    uint64_t sum; /* of a hash of each */
};

/* Adds an item of `bytes` of `data`. `class_name`: of its label, where labels have names; else NULL. */
void rue_data_digest_add(struct rue_data_digest *digest, const void *data, size_t bytes, int32_t label,
                         const char *class_name);

#endif
