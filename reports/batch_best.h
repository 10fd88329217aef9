/* The best workers (and other knobs) for each batch size: users often have the batch size given. Columns are
 * in grid order, so those of one batch size stand side by side. */
#ifndef RUE_BATCH_BEST_H
#define RUE_BATCH_BEST_H

#include "findings.h"

struct rue_batch_best {
    int batch_size;
    size_t config; /* the best ranked column with this batch size, or RUE_NONE */
    size_t next;   /* the column to go on from; 0 to begin */
};

/* Goes to the next batch size, in the order of the matrix; false when there is none. */
bool rue_batch_best_next(const struct rue_variant_findings *variant, struct rue_batch_best *at);

#endif
