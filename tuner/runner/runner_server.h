/* `rue runner`: performs trials that it is asked for in the protocol. */
#ifndef RUE_RUNNER_SERVER_H
#define RUE_RUNNER_SERVER_H

#include <stdbool.h>
#include <stdio.h>

#include "error.h"

/* Answers requests from `in` on `out`, one line each, until the input ends; `writes_nothing`: no index is
 * kept beside shards. What goes wrong with a request is in its answer; RUE_INTERNAL only when `out` cannot be
 * written. */
rue_status rue_runner_serve(FILE *in, FILE *out, bool writes_nothing, rue_error *error) RUE_MUST_CHECK;

#endif
