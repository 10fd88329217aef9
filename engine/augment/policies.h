/* Operations that are chosen at random: RandAugment, TrivialAugmentWide, 3-Augment. */
#ifndef RUE_POLICIES_H
#define RUE_POLICIES_H

#include <assert.h>

#include "augmentation.h"

/* Adds those of an item. */
void rue_policies_draw(const struct rue_policies *policies, const struct rue_augmentation_key *key,
                       uint64_t item, const struct rue_frame *frame, struct rue_operations *out);

static inline void rue_operations_add(struct rue_operations *list, enum rue_operation_kind kind, float value,
                                      float more)
{
    assert(list->count < RUE_OPERATIONS_MAX);
    list->at[list->count++] = (struct rue_operation){kind, value, more};
}

#endif
