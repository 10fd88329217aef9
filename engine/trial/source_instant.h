/* A source of any number of preprocessed items that take no time and no memory: what is left is the loader
 * itself. */
#ifndef RUE_SOURCE_INSTANT_H
#define RUE_SOURCE_INSTANT_H

#include "source.h"

/* Reading an item leaves its number, 64 bits, at the beginning of the tensor, and the rest as it was. */
extern const struct rue_source_ops rue_source_instant;

/* Of `items`, at least 1, with these operations or others. RUE_MEMORY. */
rue_status rue_source_instant_open(const struct rue_source_ops *ops, uint64_t items, struct rue_source **out,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
