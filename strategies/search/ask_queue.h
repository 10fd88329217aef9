/* Questions that a strategy has decided on and not asked yet, first in, first out. */
#ifndef RUE_ASK_QUEUE_H
#define RUE_ASK_QUEUE_H

#include "strategy.h"

struct rue_ask_queue {
    struct rue_ask *at; /* [count]; those from `next` on are still to be asked */
    size_t next, count, capacity;
};

/* RUE_MEMORY. */
rue_status rue_ask_queue_push(struct rue_ask_queue *queue, const struct rue_ask *ask,
                              rue_error *error) RUE_MUST_CHECK;

bool rue_ask_queue_is_empty(const struct rue_ask_queue *queue);

/* False when it is empty. */
bool rue_ask_queue_pop(struct rue_ask_queue *queue, struct rue_ask *out);

/* How many joint questions are like `ask`: of the same cell and as many images or more; those that were
 * asked count. */
int rue_ask_queue_count_alike(const struct rue_ask_queue *queue, const struct rue_ask *ask);

void rue_ask_queue_close(struct rue_ask_queue *queue);

#endif
