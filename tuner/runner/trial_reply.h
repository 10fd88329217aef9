/* A runner's reply to a trial. */
#ifndef RUE_TRIAL_REPLY_H
#define RUE_TRIAL_REPLY_H

#include <jansson.h>

#include "trial.h"

/* The reply to `request`. One that cannot be true (another configuration than the one asked for, a value of
 * the wrong type or size, fields that break a rule of reply_rules.h) becomes a failed result whose reason
 * says what is wrong, and nothing else of it is kept. Times of each batch are kept where the request asked
 * for them, up to RUE_BATCH_TIMES_MAX. */
void rue_trial_reply_decode(const json_t *reply, const struct rue_trial_request *request,
                            struct rue_trial_result *out);

#endif
