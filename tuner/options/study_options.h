/* Options about studies and trials that several commands share. Each row is defined once, so that a name
 * means the same in all commands. */
#ifndef RUE_STUDY_OPTIONS_H
#define RUE_STUDY_OPTIONS_H

#include "options.h"

/* The search space. */
#define RUE_STUDY_OPTION_DEVICE                                                                             \
    "device", RUE_OPTION_TEXT, "NAME", NULL, "device that models are simulated on [rtx-a5000]", 0, 0, NULL, \
        .usual = "rtx-a5000",                                                                               \
        .more = "h100 and h100:bf16 are in the catalogue ('rue models --devices'); rue calibrate "          \
                "writes h100.json. host:2 computes on 2 CPU threads and cuda:bf16 on a GPU of this "        \
                "machine, both without simulation."

/* The runner and its limits. */
#define RUE_STUDY_OPTION_RUNNER                                                                             \
    "runner", RUE_OPTION_COMMAND, "CMD", NULL, "program that measures another loader than rue's own", 0, 0, \
        NULL,                                                                                               \
        .set_by = RUE_SET_BY_USER, .usual = "rue runner",                                                   \
        .more = "python3 -m rue_tuner.runner measures PyTorch's DataLoader. Any program that speaks the "   \
                "protocol of docs/protocol.md can take its place."
#define RUE_STUDY_OPTION_RUNNER_FD                                                                          \
    "runner-fd", RUE_OPTION_TEXT, "LIST", NULL, "inherited sockets of programs that make the trials", 0, 0, \
        NULL,                                                                                               \
        .set_by = RUE_SET_BY_FLAG, .group = RUE_GROUP_ADVANCED, .usual = "none",                            \
        .more = "In place of --runner: the program that starts rue makes the trials itself, and speaks "    \
                "the protocol over a socket pair. With several sockets, such as 5,6,7, the programs make "  \
                "each trial together, and the slowest counts."
#define RUE_STUDY_OPTION_TRIAL_TIMEOUT                                     \
    "trial-timeout", RUE_OPTION_DURATION, "TIME", NULL,                    \
        "stop a trial after TIME [10 times expected, min 1m]", 0, 0, NULL, \
        .group = RUE_GROUP_ADVANCED, .usual = "10 times its expected time, at least 1m"
#define RUE_STUDY_OPTION_KNOB                                                                           \
    "knob", RUE_OPTION_SETTINGS, "NAME=LIST", NULL, "values of another knob of the loader", 0, 0, NULL, \
        .group = RUE_GROUP_SPACE, .usual = "none"

#define RUE_STUDY_OPTION_MAX_MEMORY                                                                         \
    "max-memory", RUE_OPTION_BYTES, "SIZE", NULL, "memory for batches in flight, such as 8G [4/5 of free]", \
        0, 0, NULL, .group = RUE_GROUP_SPACE,                                                               \
                    .more = "A configuration that needs more, with the cache of chunks, is infeasible."

/* Earlier results in the same folder. */
#define RUE_STUDY_OPTION_FRESH                                                                       \
    "fresh", RUE_OPTION_FLAG, NULL, NULL, "start over; older results are kept as *.old", 0, 0, NULL, \
        .set_by = RUE_SET_BY_USER, .group = RUE_GROUP_OUTPUT

#define RUE_STUDY_OPTION_ACCEPT_BUSY                                                                       \
    "accept-busy", RUE_OPTION_FLAG, NULL, NULL, "other programs do not make the answer undecided", 0, 0,   \
        NULL, .group = RUE_GROUP_ANSWER,                                                                   \
              .more = "For a machine that is never idle. The answer still says how much of the time they " \
                      "affected, and must be measured on every model."

/* The output. */
#define RUE_STUDY_OPTION_DETAILS                                                                          \
    "details", RUE_OPTION_FLAG, NULL, NULL, "show more: each batch size, smallest set, other jobs", 0, 0, \
        NULL, .group = RUE_GROUP_OUTPUT
#define RUE_STUDY_OPTION_JSON \
    "json", RUE_OPTION_FLAG, NULL, NULL, "print the result as JSON", 0, 0, NULL, .group = RUE_GROUP_OUTPUT
#define RUE_STUDY_OPTION_QUIET \
    "quiet", RUE_OPTION_FLAG, NULL, NULL, "print no progress", 0, 0, NULL, .group = RUE_GROUP_OUTPUT

#endif
