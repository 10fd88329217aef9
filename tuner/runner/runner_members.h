/* What runner_group.c, runner_farm.c and runner_members.c share: several runners, on GPUs or ranks. */
#ifndef RUE_RUNNER_MEMBERS_H
#define RUE_RUNNER_MEMBERS_H

#include <pthread.h>

#include "launch.h"
#include "runner_connection.h"
#include "runner_group.h"

enum { RUE_MEMBER_NAME_BYTES = RUE_GPU_NAME_BYTES + 16 };

/* What the thread of a lane does (runner_farm.c): a trial, or the start of a new runner. */
struct rue_lane_work {
    pthread_t thread;
    int ended_fd; /* an eventfd, readable once it has ended */
    bool restarts;
    const char *profile; /* of the trial */
    uint64_t timeout_ns;
    rue_status status; /* once it has ended */
    rue_error why;
};

/* One of several loaders that make a trial together. */
struct rue_member {
    struct rue_connection *connection;
    char name[RUE_MEMBER_NAME_BYTES]; /* "GPU 0", "rank 3 (node7)" */
    const char *node;                 /* of a rank; NULL: this machine */
    size_t first;                     /* number of the first loader on its node */
    struct rue_trial_request request;
    struct rue_trial_result result;
    bool started, ready, skipped;
    bool waits;                       /* for a line, in rank_watch.h */
    unsigned answered_at, ended_at;   /* number of the event in the trial; 0: not yet */
    struct rue_lane_work *work;       /* of a lane; NULL: it does nothing */
    uint64_t clock_ns, round_trip_ns; /* how far its clock is ahead, modulo 2^64; within which time */
};

struct rue_runner_group {
    struct rue_runner_address address;
    struct rue_gpu_list gpus;   /* of the loaders; empty: `launch` has the loaders */
    struct rue_launch *launch;  /* NULL: this process starts the loaders */
    struct rue_hello hello;     /* of all loaders together */
    size_t total, count;        /* loaders; the first of them, which make the trial */
    struct rue_member *members; /* [total] */
    int watch;                  /* rank_watch.h; -1: none */
    unsigned events;            /* in the trial */
};

/* Continues a failure with the loader concerned. */
rue_status rue_member_fail(const struct rue_runner_group *group, const struct rue_member *member,
                           rue_status status, const rue_error *why, rue_error *error);

/* Names loader `index` and its node, once the launcher has started it. */
void rue_member_name(struct rue_runner_group *group, size_t index);

/* Whether it is the first loader on its node. */
static inline bool rue_member_is_first(const struct rue_runner_group *group, size_t index)
{
    return group->members[index].first == index;
}

/* The loaders on the node that has the most. */
size_t rue_members_on_node(const struct rue_runner_group *group);

/* The last answers of the ranks [first, end) as a JSON array, for the store. NULL: not launched, or out of
 * memory. */
char *rue_members_describe(const struct rue_runner_group *group, size_t first, size_t end);

#endif
