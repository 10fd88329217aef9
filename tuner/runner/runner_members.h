/* The loaders of a study, of a team or of a farm: the one that the address says; a program at each of several
 * sockets; one per GPU of this machine; or one per rank of a launcher. */
#ifndef RUE_RUNNER_MEMBERS_H
#define RUE_RUNNER_MEMBERS_H

#include "gpu_list.h"
#include "launch.h"
#include "runner_connection.h"

enum { RUE_MEMBER_NAME_BYTES = RUE_GPU_NAME_BYTES + 16 };

struct rue_member {
    struct rue_members *all;
    struct rue_connection *connection;
    char name[RUE_MEMBER_NAME_BYTES]; /* "GPU 0", "rank 3 (node7)"; "": it is the only loader */
    const char *node;                 /* of a rank; NULL: this machine */
    size_t first;                     /* number of the first loader on its node */
    struct rue_trial_request request;
    struct rue_trial_result result;
    bool started, ready, skipped;
    bool waits;                       /* for a line, in rank_watch.h */
    unsigned answered_at, ended_at;   /* number of the event in the trial; 0: not yet */
    uint64_t clock_ns, round_trip_ns; /* how far its clock is ahead, modulo 2^64; uncertainty of that */
};

struct rue_members {
    struct rue_runner_address address;
    struct rue_launcher launcher;
    struct rue_gpu_list gpus;   /* of the loaders; empty: they are of another kind */
    struct rue_launch *launch;  /* NULL: no launcher starts the loaders */
    bool divides;               /* the loaders divide each job; else each gets the same requests */
    struct rue_hello *hello;    /* of all loaders together */
    size_t total, count;        /* all loaders; those that make the trial, the first ones */
    struct rue_member *members; /* [total] */
    int watch;                  /* rank_watch.h; -1: none */
    unsigned events;            /* in the trial */
};

/* Starts a runner for each loader, and exchanges hello. As rue_runners_open (runners.h) and
 * rue_launch_open. */
rue_status rue_members_open(const struct rue_runner_address *address, const struct rue_deployment *deployment,
                            struct rue_members **out, rue_error *error) RUE_MUST_CHECK;
void rue_members_close(struct rue_members *group);

/* Whether each loader is a rank, with a name: of a launcher, or at one of several sockets. */
static inline bool rue_members_are_ranks(const struct rue_members *group)
{
    return group->members[0].name[0] && !group->gpus.count;
}

/* The loader `index` as a team of its own, of a farm. Borrows from `group`, and needs no close. */
struct rue_members rue_members_node(const struct rue_members *group, size_t index);

/* Fails with the message of `why`, after the name of the loader if it is a rank. */
rue_status rue_member_fail(const struct rue_member *member, rue_status status, const rue_error *why,
                           rue_error *error);

/* The socket that is connected to the agent of a rank. */
int rue_member_socket(const struct rue_member *member);

/* Merges what a member other than the first has opened into `all`. RUE_DATA: its data differ. */
rue_status rue_member_merge_opened(const struct rue_member *member, const struct rue_opened *opened,
                                   struct rue_opened *all, rue_error *error);

/* Names loader `index` and its node, once the launcher has started it. */
void rue_member_name(struct rue_members *group, size_t index);

/* Whether it is the first loader on its node. */
static inline bool rue_member_is_first(const struct rue_members *group, size_t index)
{
    return group->members[index].first == index;
}

/* The largest number of loaders on one node. */
size_t rue_members_on_node(const struct rue_members *group);

/* The last answers of ranks [count] as a JSON array, for the store. NULL: not launched, or out of memory. */
char *rue_members_describe(const struct rue_member *members, size_t count);

#endif
