/* The lines of a runner: requests are read and answered until the input ends. */
#ifndef RUE_RUNNER_LINES_H
#define RUE_RUNNER_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "error.h"

/* Who answers. Each returns a line owned by the caller, without the newline; NULL without memory. */
struct rue_answerer {
    char *(*hello)(void *state, const json_t *request);
    char *(*open)(void *state, const json_t *request);
    char *(*trial)(void *state, json_t *request);
};

/* Answers requests from `in` on `out`, one line each. What goes wrong with a request is in its answer;
 * RUE_INTERNAL only when `out` cannot be written. */
rue_status rue_runner_lines_serve(const struct rue_answerer *answerer, void *state, FILE *in, FILE *out,
                                  rue_error *error) RUE_MUST_CHECK;

/* The answer to a request that failed so: infeasible where there was no memory or descriptor for it. */
char *rue_runner_lines_refuse(json_t *id, const rue_error *error);

#endif
