/* When the first batch comes, and which configurations a limit of that rules out. */
#ifndef RUE_FIRST_BATCHES_H
#define RUE_FIRST_BATCHES_H

#include "prediction.h"

/* Seconds until the first batch in a cell: the median of its joint trials that say so, else predicted
 * (`*measured` tells which). After the prediction's update. */
double rue_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config,
                         bool *measured);

/* Marks in `late` [config_count] what has its first batch later than the setup's limit on some model. As
 * predictions err, where they leave nothing that is not `excluded` [config_count], the one that comes nearest
 * to the limit, and was not measured to be late, stays unmarked: until one was measured to be late, and those
 * that are predicted to be a little late in any case. Without a limit nothing is marked. */
void rue_first_batches_mark(const struct rue_prediction *prediction, const struct rue_strategy_setup *setup,
                            const bool *excluded, bool *late);

#endif
