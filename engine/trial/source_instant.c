#include "source_instant.h"

enum { SIDE = 224 };

static rue_status read_number(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    (void)index, (void)error;
    *(uint64_t *)into = item;
    return RUE_OK;
}

const struct rue_source_ops rue_source_instant = {
    .format = "none", .holds = {[RUE_PREPROCESSED] = true}, .read = read_number};

rue_status rue_source_instant_open(const struct rue_source_ops *ops, uint64_t items, struct rue_source **out,
                                   rue_error *error)
{
    const struct rue_index index = {.count = items,
                                    .mode = RUE_PREPROCESSED,
                                    .dtype = RUE_FLOAT32,
                                    .shape = {3, SIDE, SIDE},
                                    .stride = {.bytes = sizeof(float) * 3 * SIDE * SIDE}};
    return rue_source_adopt(ops, &index, "no work", out, error);
}
