/* A runner's reply to a trial. */
#ifndef RUE_TRIAL_REPLY_H
#define RUE_TRIAL_REPLY_H

#include <jansson.h>

#include "error.h"
#include "trial.h"

/* Decodes the reply to `request`. A reply that cannot be true becomes a failed result without values: another
 * configuration than requested, a field of the wrong type, a value out of range, or a broken rule of
 * rue_trial_reply_check. Its reason names the field, what is expected and what came. Times of each batch are
 * kept where the request has `detail`, up to RUE_BATCH_TIMES_MAX. */
void rue_trial_reply_decode(const json_t *reply, const struct rue_trial_request *request,
                            struct rue_trial_result *out);

/* RUE_RUNNER with the first broken rule between the fields of a reply. Fields that the runner did not send
 * break no rule, unless they are required. */
rue_status rue_trial_reply_check(const struct rue_trial_request *request,
                                 const struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

#endif
