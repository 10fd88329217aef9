/* `rue runner`: performs the trials that a tuner requests. */
#ifndef RUE_RUNNER_SERVER_H
#define RUE_RUNNER_SERVER_H

#include <stdbool.h>
#include <stdio.h>

#include "error.h"

/* Answers each line of `in` with a line on `out`, until the input ends. `writes_nothing`: keeps no index
 * beside shards. Errors of a request are in its answer; RUE_INTERNAL: cannot write `out`. */
rue_status rue_runner_serve(FILE *in, FILE *out, bool writes_nothing, rue_error *error) RUE_MUST_CHECK;

#endif
