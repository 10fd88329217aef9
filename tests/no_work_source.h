/* A source of any number of items that take no time and no memory: what is left is the loader itself. */
#ifndef RUE_NO_WORK_SOURCE_H
#define RUE_NO_WORK_SOURCE_H

#include <stdio.h>
#include <stdlib.h>

#include "source.h"
#include "transform.h"

static inline void no_work_close(void *state)
{
    free(state);
}

static inline uint64_t no_work_count(const void *state)
{
    return *(const uint64_t *)state;
}

static inline uint64_t no_work_bytes(const void *state, uint64_t item)
{
    (void)state, (void)item;
    return sizeof(float) * RUE_TENSOR_ITEMS;
}

static inline rue_status no_work_label(const void *state, uint64_t item, int32_t *out, rue_error *error)
{
    (void)state, (void)error;
    *out = (int32_t)(item % 1000);
    return RUE_OK;
}

static inline void no_work_name(const void *state, uint64_t item, char *out, size_t bytes)
{
    (void)state;
    snprintf(out, bytes, "item %llu", (unsigned long long)item);
}

/* Leaves a mark: the item's number. */
static inline rue_status no_work_read(const void *state, uint64_t item, void *into, rue_error *error)
{
    (void)state, (void)error;
    *(uint64_t *)into = item;
    return RUE_OK;
}

static inline size_t no_work_class_count(const void *state)
{
    (void)state;
    return 0;
}

static inline enum rue_dtype no_work_dtype(const void *state)
{
    (void)state;
    return RUE_FLOAT32;
}

static inline void no_work_shape(const void *state, uint32_t out[3])
{
    (void)state;
    out[0] = RUE_CHANNELS;
    out[1] = out[2] = RUE_CROP;
}

static const struct rue_source_ops no_work_ops = {
    .format = "none",
    .holds = {[RUE_PREPROCESSED] = true},
    .close = no_work_close,
    .count = no_work_count,
    .bytes = no_work_bytes,
    .label = no_work_label,
    .name = no_work_name,
    .read = no_work_read,
    .class_count = no_work_class_count,
    .dtype = no_work_dtype,
    .shape = no_work_shape,
};

/* NULL without memory. */
static inline struct rue_source *no_work_source_open(uint64_t count)
{
    struct rue_source *source = NULL;
    rue_error error = {0};
    uint64_t *state = malloc(sizeof *state);
    if (!state) return NULL;
    *state = count;
    return rue_source_adopt(&no_work_ops, state, "no work", &source, &error) == RUE_OK ? source : NULL;
}

#endif
