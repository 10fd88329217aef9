/* A source of any number of items that take no time and no memory: what is left is the loader itself. */
#ifndef RUE_NO_WORK_SOURCE_H
#define RUE_NO_WORK_SOURCE_H

#include "source_instant.h"

/* NULL without memory. */
static inline struct rue_source *no_work_source_open(uint64_t count)
{
    struct rue_source *source;
    return rue_source_instant_open(count, &source, NULL) == RUE_OK ? source : NULL;
}

#endif
