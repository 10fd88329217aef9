/* A runner's reply to a trial. */
#ifndef RUE_TRIAL_REPLY_H
#define RUE_TRIAL_REPLY_H

#include <jansson.h>

#include "trial.h"

/* The reply to `request`. One that cannot be true (another configuration than the one asked for, a value of
 * the wrong type or size, fields of which rue_trial_reply_fault says that they cannot be) becomes a failed
 * result whose reason says what is wrong, and nothing else of it is kept. Times of each batch are kept where
 * the request asked for them, up to RUE_BATCH_TIMES_MAX. */
void rue_trial_reply_decode(const json_t *reply, const struct rue_trial_request *request,
                            struct rue_trial_result *out);

/* What cannot be between the fields of a reply; NULL: it can be true. Fields that the runner did not send are
 * not at fault, except those that are said to be missing. */
const char *rue_trial_reply_fault(const struct rue_trial_request *request,
                                  const struct rue_trial_result *result);

#endif
