/* Options about studies and their trials that several commands have: their rows, once, so that the same name
 * means the same in all of them. */
#ifndef RUE_STUDY_OPTIONS_H
#define RUE_STUDY_OPTIONS_H

#include "options.h"

/* What is tried. */
#define RUE_STUDY_OPTION_BATCH_SIZE                                                                      \
    {                                                                                                    \
        "batch-size", RUE_OPTION_LIST, "LIST", NULL, "batch sizes, such as 32,64,128 [16 to 256]", 0, 0, \
            NULL                                                                                         \
    }
#define RUE_STUDY_OPTION_NUM_WORKERS                                                                       \
    {                                                                                                      \
        "num-workers", RUE_OPTION_LIST, "LIST", NULL, "workers, such as 0..8 [0 to twice the CPUs]", 0, 0, \
            NULL                                                                                           \
    }
#define RUE_STUDY_OPTION_MODEL                                                              \
    {                                                                                       \
        "model", RUE_OPTION_LIST, "LIST", NULL,                                             \
            "models, such as resnet50,sleep:2ms/image [four of different cost]", 0, 0, NULL \
    }

#define RUE_STUDY_OPTION_DEVICE                                                                  \
    {                                                                                            \
        "device", RUE_OPTION_TEXT, "NAME", NULL,                                                 \
            "what models are simulated on (h100, h100.json) or computed on (host:2, cuda:bf16) " \
            "[rtx-a5000]",                                                                       \
            0, 0, NULL                                                                           \
    }

#define RUE_STUDY_OPTION_REPEATS                                                            \
    {                                                                                       \
        "repeats", RUE_OPTION_COUNT, "N", "1", "measure everything so often", 1, 1000, NULL \
    }

/* By whom, and within what. */
#define RUE_STUDY_OPTION_RUNNER                                                                              \
    {                                                                                                        \
        "runner", RUE_OPTION_COMMAND, "CMD", NULL, "measure with another runner than rue's own", 0, 0, NULL, \
            .set_by = RUE_SET_BY_USER                                                                        \
    }
#define RUE_STUDY_OPTION_TRIAL_TIMEOUT                                                       \
    {                                                                                        \
        "trial-timeout", RUE_OPTION_DURATION, "TIME", NULL,                                  \
            "stop a trial that hangs [ten times its expected time, 1m at least]", 0, 0, NULL \
    }
#define RUE_STUDY_OPTION_MAX_MEMORY                                               \
    {                                                                             \
        "max-memory", RUE_OPTION_BYTES, "SIZE", NULL,                             \
            "for batches in flight, such as 8G [4/5 of what is free]", 0, 0, NULL \
    }

/* What becomes of an earlier one in the same folder. */
#define RUE_STUDY_OPTION_FRESH                                                                             \
    {                                                                                                      \
        "fresh", RUE_OPTION_FLAG, NULL, NULL, "start over; study.db and the reports are kept as *.old", 0, \
            0, NULL, .set_by = RUE_SET_BY_USER                                                             \
    }

#endif
