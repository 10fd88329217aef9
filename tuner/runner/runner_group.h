/* `rue runner --gpus 0,1`: several runners that are one towards whoever asks. Each has a GPU of its own, and
 * a loader of its own for it; all make the same trial at once, each with its share of the images. What they
 * answer is what the slowest of them took. */
#ifndef RUE_RUNNER_GROUP_H
#define RUE_RUNNER_GROUP_H

#include <stdio.h>

#include "gpu_list.h"
#include "trial.h"

/* Starts a runner for each GPU when it is first asked for something, by `command` (a shell command; NULL:
 * this program's own), and answers requests until the input ends; what goes wrong with one is in its answer.
 * As rue_runner_serve. */
rue_status rue_runner_group_serve(const struct rue_gpu_list *gpus, const char *command, FILE *in, FILE *out,
                                  rue_error *error) RUE_MUST_CHECK;

/* One result of `results` [count], which are all ok: the times of the slowest, and what all of them together
 * used. Its arrays are those of the slowest; those of the others are freed. */
struct rue_trial_result rue_runner_group_merge(struct rue_trial_result *results, size_t count);

#endif
