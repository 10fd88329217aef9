/* The options for what loads at the same time, of every command that makes trials. Each row is defined once.
 * Commands have those that they need, and rue_deployment_read() finds them by name. */
#ifndef RUE_DEPLOYMENT_OPTIONS_H
#define RUE_DEPLOYMENT_OPTIONS_H

#include "deployment.h"
#include "options.h"

#define RUE_OPTION_LAUNCH                                                                                  \
    "launch", RUE_OPTION_COMMAND, "CMD", NULL, "start a loader per rank by CMD, such as 'srun -N2'",       \
        .set_by = RUE_SET_BY_USER, .group = RUE_GROUP_JOB, .usual = "this machine",                        \
        .more = "CMD starts what follows it once per rank: srun, mpirun, torchrun --no-python. All ranks " \
                "make each trial together, each with its share of the images; the slowest counts. See "    \
                "docs/cluster.md."

/* How ranks connect. */
#define RUE_OPTION_LISTEN                                                                   \
    "listen", RUE_OPTION_TEXT, "HOST", "127.0.0.1", "address for ranks to connect to",      \
        .set_by = RUE_SET_BY_USER, .group = RUE_GROUP_ADVANCED,                             \
        .more = "HOST or HOST:PORT. Ranks on other machines need an address that they can " \
                "reach: --listen $(hostname)."
#define RUE_OPTION_LAUNCH_TIMEOUT                                                                       \
    "launch-timeout", RUE_OPTION_DURATION, "TIME", "5m", "wait for the ranks of --launch at most TIME", \
        .set_by = RUE_SET_BY_USER, .group = RUE_GROUP_ADVANCED

#define RUE_OPTION_FARM                                                                                 \
    "farm", RUE_OPTION_FLAG, NULL, NULL, "let each rank of --launch make trials by itself",             \
        .set_by = RUE_SET_BY_USER, .group = RUE_GROUP_ADVANCED,                                         \
        .more = "For like nodes, one rank each: N of them make N trials at the same time. A node that " \
                "differs from the others makes no more trials. See docs/cluster.md."
#define RUE_OPTION_RANKS                                                                               \
    "ranks", RUE_OPTION_LIST, "LIST", NULL, "scale over ranks of --launch, such as 1,2,4,8",           \
        .set_by = RUE_SET_BY_FLAG, .usual = "all of --launch",                                         \
        .more = "Ranks 0 to N-1 of the launcher make the trials of N ranks. In one all share the job " \
                "(strong scaling), in one the job is that of each (weak). 1 is always included. See "  \
                "docs/cluster.md."

#define RUE_OPTION_GPUS                                                                     \
    "gpus", RUE_OPTION_LIST, "LIST", NULL, "GPUs to load for at once, such as 0,1 or 0..7", \
        .group = RUE_GROUP_JOB, .usual = "one loader", .more = "Each GPU has a loader of its own."

/* One of several ranks, each on its own machine. */
#define RUE_OPTION_RANK                                                               \
    "rank", RUE_OPTION_COUNT, "R", NULL, "load only the share of rank R, from 0 [0]", \
        .max = INT32_MAX, .group = RUE_GROUP_JOB, .usual = "0",                       \
        .more = "It needs --world-size. The other ranks run on other machines."
#define RUE_OPTION_WORLD_SIZE                                                               \
    "world-size", RUE_OPTION_COUNT, "N", NULL, "number of ranks that share the images [1]", \
        .min = 1, .max = INT32_MAX, .group = RUE_GROUP_JOB, .usual = "1"

/* Reads all of them that the command has, for `data_count` data sets. Strings are borrowed from the options.
 * RUE_USAGE: two exclude each other, one misses another, or a number or a GPU is out of range. */
rue_status rue_deployment_read(const struct rue_options *options, size_t data_count,
                               struct rue_deployment *out, rue_error *error) RUE_MUST_CHECK;

/* The origin of the option that makes it more than one loader: "--launch"; "": none does. */
const char *rue_deployment_origin(const struct rue_options *options, const struct rue_deployment *deployment);

#endif
