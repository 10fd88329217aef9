/* The lines of a runner: requests are read and answered until the input ends. */
#ifndef RUE_RUNNER_LINES_H
#define RUE_RUNNER_LINES_H

#include <stdio.h>

#include "protocol.h"

/* Who answers. What goes wrong is refused: infeasible where there was no memory or descriptor for it. */
struct rue_answerer {
    json_t *(*hello)(void *state, rue_error *error); /* a new reference; NULL: refused */
    rue_status (*open)(void *state, const struct rue_open_request *request, struct rue_opened *out,
                       rue_error *error);
    /* `object` is the request as it came; `out` is closed by the caller. */
    rue_status (*trial)(void *state, json_t *object, const struct rue_trial_request *request,
                        struct rue_trial_result *out, rue_error *error);
};

/* Answers requests from `in` on `out`, one line each. What goes wrong with a request is in its answer;
 * RUE_INTERNAL only when `out` cannot be written. */
rue_status rue_runner_lines_serve(const struct rue_answerer *answerer, void *state, FILE *in, FILE *out,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
