/* `rue runner --table`: answers trials with the times of a table. */
#ifndef RUE_RECORDING_RUNNER_H
#define RUE_RECORDING_RUNNER_H

#include <stdio.h>

#include "recording.h"

/* As rue_runner_serve. */
rue_status rue_recording_serve(struct rue_recording *recording, FILE *in, FILE *out,
                               rue_error *error) RUE_MUST_CHECK;

#endif
