#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

enum { LABELS_MOST = 65536 }; /* with more, the labels are in any order */

struct parts {
    uint64_t *firsts;
    size_t count, capacity;
};

static rue_status add_part(struct parts *parts, uint64_t first, rue_error *error)
{
    if (parts->count && parts->firsts[parts->count - 1] == first) return RUE_OK; /* that part is empty */
    rue_status status = rue_array_grow(&parts->firsts, &parts->capacity, parts->count + 1,
                                       sizeof *parts->firsts, "parts of the data", error);
    if (status == RUE_OK) parts->firsts[parts->count++] = first;
    return status;
}

static bool same_folder(const struct rue_source *source, size_t shard, size_t other)
{
    const char *a = rue_source_shard_path(source, shard), *b = rue_source_shard_path(source, other);
    const char *slash = strrchr(a, '/'), *end = strrchr(b, '/');
    size_t length = slash ? (size_t)(slash - a) : 0;
    return length == (end ? (size_t)(end - b) : 0) && strncmp(a, b, length) == 0;
}

static rue_status add_shards(const struct rue_source *source, struct parts *parts, rue_error *error)
{
    size_t shards = rue_source_shards(source);
    bool folders = false;
    for (size_t s = 1; s < shards; s++) folders |= !same_folder(source, s - 1, s);
    rue_status status = RUE_OK;
    for (size_t s = 0; status == RUE_OK && s < shards; s++)
        if (s == 0 || !folders || !same_folder(source, s - 1, s))
            status = add_part(parts, rue_source_shard_first(source, s), error);
    return status;
}

static int compare_labels(const void *a, const void *b, void *source)
{
    int32_t x = rue_source_label(source, *(const uint64_t *)a),
            y = rue_source_label(source, *(const uint64_t *)b);
    return (x > y) - (x < y);
}

static int compare_items(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Keeps only the first part if a label comes back, or if there are too many. */
static void check_labels(const struct rue_source *source, struct parts *parts)
{
    bool scattered = parts->count > LABELS_MOST;
    qsort_r(parts->firsts, parts->count, sizeof *parts->firsts, compare_labels, (void *)source);
    for (size_t p = 1; p < parts->count; p++)
        scattered |= compare_labels(&parts->firsts[p - 1], &parts->firsts[p], (void *)source) == 0;
    qsort(parts->firsts, parts->count, sizeof *parts->firsts, compare_items);
    if (scattered) parts->count = 1;
}

static rue_status add_labels(const struct rue_source *source, struct parts *parts, rue_error *error)
{
    rue_status status = add_part(parts, 0, error);
    for (uint64_t i = 1; status == RUE_OK && parts->count <= LABELS_MOST && i < rue_source_count(source); i++)
        if (rue_source_label(source, i) != rue_source_label(source, i - 1))
            status = add_part(parts, i, error);
    if (status == RUE_OK) check_labels(source, parts);
    return status;
}

rue_status rue_parts_find(const struct rue_source *source, uint64_t **firsts, size_t *count, rue_error *error)
{
    struct parts parts = {0};
    rue_status status = RUE_OK;
    if (rue_source_block(source) > 1)
        status = add_part(&parts, 0, error);
    else if (rue_source_shards(source) > 1)
        status = add_shards(source, &parts, error);
    else
        status = add_labels(source, &parts, error);
    if (status == RUE_OK) status = add_part(&parts, rue_source_count(source), error);
    if (status != RUE_OK) return free(parts.firsts), status;
    *firsts = parts.firsts;
    *count = parts.count - 1;
    return RUE_OK;
}
