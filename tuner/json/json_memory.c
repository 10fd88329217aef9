#include "json_memory.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_uint failures;

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) failures++;
    return memory;
}

void rue_json_memory_watch(void)
{
    json_set_alloc_funcs(allocate, free);
}

unsigned rue_json_memory_failures(void)
{
    return failures;
}
