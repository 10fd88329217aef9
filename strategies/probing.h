/* The probes of a strategy that predicts, in their order: load-only trials, some of them again, and each
 * model's compute. Without load-only trials, see survey.h. A prior stands in for most of them. Where trials
 * are limited they are no more than rue_probes_room says, and what there is no room for is not pushed. */
#ifndef RUE_PROBING_H
#define RUE_PROBING_H

#include "ask_queue.h"
#include "prediction.h"

struct rue_probing;

/* `setup` is borrowed for its life. RUE_MEMORY. */
rue_status rue_probing_open(const struct rue_strategy_setup *setup, struct rue_probing **out,
                            rue_error *error) RUE_MUST_CHECK;
void rue_probing_close(struct rue_probing *probing);

/* The load-only ones. RUE_MEMORY, as all that follow. */
rue_status rue_probing_push_load(struct rue_probing *probing, struct rue_ask_queue *queue,
                                 rue_error *error) RUE_MUST_CHECK;

/* Those that were slower than the prediction that was made of them explains, again; and twice as long those
 * that are cheap. */
rue_status rue_probing_push_again(struct rue_probing *probing, const struct rue_prediction *prediction,
                                  struct rue_ask_queue *queue, rue_error *error) RUE_MUST_CHECK;

/* The compute of every model. */
rue_status rue_probing_push_compute(struct rue_probing *probing, struct rue_ask_queue *queue,
                                    rue_error *error) RUE_MUST_CHECK;

/* That of one model at the batch size of `config`, unless it was asked for before or there is no room:
 * then `*pushed` is false. */
rue_status rue_probing_push_size(struct rue_probing *probing, size_t model, size_t config, bool *pushed,
                                 struct rue_ask_queue *queue, rue_error *error) RUE_MUST_CHECK;

/* What the prior stood in for, once, when the trials have contradicted it: `*pushed`. */
rue_status rue_probing_push_distrusted(struct rue_probing *probing, const struct rue_prediction *prediction,
                                       bool *pushed, struct rue_ask_queue *queue,
                                       rue_error *error) RUE_MUST_CHECK;

/* Whether rue_probing_push_size would ask nothing. */
bool rue_probing_is_computed(const struct rue_probing *probing, size_t model, size_t config);

#endif
