/* The first trials where a runner has joint ones alone, or trials are too few for others. Every model runs
 * once with a middling configuration, which tells how much they take; then the one that takes least, which is
 * nearest to a consumer that takes no time, tells of the loader; then every model runs with small batches,
 * which tells its time for a batch from that for an image. */
#ifndef RUE_SURVEY_H
#define RUE_SURVEY_H

#include "ask_queue.h"
#include "prediction.h"
#include "trial_costs.h"

struct rue_survey;

/* `setup` is borrowed for its life. RUE_MEMORY. */
rue_status rue_survey_open(const struct rue_strategy_setup *setup, struct rue_survey **out,
                           rue_error *error) RUE_MUST_CHECK;
void rue_survey_close(struct rue_survey *survey);

/* How a joint trial ended. */
void rue_survey_tell(struct rue_survey *survey, const struct rue_ask *ask, bool ok);

/* The first trials, and again for models that had none that was ok, with another configuration; nothing where
 * there is no such model or configuration. RUE_MEMORY. */
rue_status rue_survey_push_first(struct rue_survey *survey, struct rue_ask_queue *queue,
                                 rue_error *error) RUE_MUST_CHECK;

/* Those that follow, as far as half of `left_s`, and of the trials that are left, allows, a trial of every
 * model for the verification aside. `prediction` has been updated. RUE_MEMORY. */
rue_status rue_survey_push_second(const struct rue_survey *survey, const struct rue_prediction *prediction,
                                  const struct rue_trial_costs *costs, double left_s,
                                  struct rue_ask_queue *queue, rue_error *error) RUE_MUST_CHECK;

#endif
