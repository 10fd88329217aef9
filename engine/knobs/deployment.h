/* The deployment: what loads at the same time. One loader; one on each GPU of this machine; one in each rank
 * that a launcher starts; or one of several ranks whose others are elsewhere. The study's goal, findings and
 * reports pass this struct as a whole. All zero: one loader. */
#ifndef RUE_DEPLOYMENT_H
#define RUE_DEPLOYMENT_H

#include "workload.h"

/* How ranks are started. Borrowed. */
struct rue_launcher {
    const char *words;  /* for a shell: they start the command that follows them on several machines, with a
                           runner in each process; NULL: no ranks are started */
    const char *listen; /* "HOST" or "HOST:PORT" of this machine, to which they connect */
    uint64_t timeout_ns;
    bool farm; /* each rank makes trials by itself, instead of all together */
};

/* Numbers of ranks to compare: 1 and others, ascending. Each other number makes two variants: J images that
 * all ranks share (strong scaling), and J images on each (weak). */
enum { RUE_RANK_NUMBERS_MAX = 8, RUE_LAUNCHED_RANKS_MAX = 1024 };
struct rue_rank_numbers {
    size_t count; /* 0: nothing to compare, all ranks make each trial */
    int at[RUE_RANK_NUMBERS_MAX];
};

struct rue_deployment {
    uint64_t gpus;        /* with a loader each; 0: one loader, or ranks, or not opened yet */
    uint64_t ranks;       /* that make each trial together, with a loader each; 0: none, or not started yet */
    uint64_t nodes;       /* of a farm; 0: none, or not started yet */
    int rank, world_size; /* load the share of this rank, the others are elsewhere; 0: not set */
    const char *gpu_list; /* of `gpus`, see gpu_list.h; borrowed; NULL: none */
    struct rue_launcher launcher;
    struct rue_rank_numbers numbers;
};

enum { RUE_DEPLOYMENT_TEXT_BYTES = 48 };

/* Each number of loaders, by the name of what they load for. */
extern const struct rue_field rue_deployment_fields[];

/* Whether it is more than one loader in one process, even if the number is 1. */
static inline bool rue_deployment_is_several(const struct rue_deployment *deployment)
{
    return deployment->gpu_list || deployment->launcher.words;
}

/* Whether all ranks of a launcher make each trial together. */
static inline bool rue_deployment_is_launched(const struct rue_deployment *deployment)
{
    return deployment->launcher.words && !deployment->launcher.farm;
}

/* Number of loaders that make a trial together. */
uint64_t rue_deployment_loaders(const struct rue_deployment *deployment);

/* The most ranks that make a trial together. To compare numbers of ranks, it may be fewer than the launcher
 * starts. */
uint64_t rue_deployment_most_ranks(const struct rue_deployment *deployment);

/* The numbers of loaders that make a trial with this workload, of a deployment that has been opened. */
struct rue_deployment rue_deployment_for(const struct rue_deployment *deployment,
                                         const struct rue_workload *workload);

/* What made a stored trial with this workload; `launched`: its ranks are stored. */
struct rue_deployment rue_deployment_stored(const struct rue_workload *workload, bool launched);

/* Sets the share of each loader. */
void rue_deployment_apply(const struct rue_deployment *deployment, struct rue_workload *workload);

/* Whether both have as many GPUs and ranks. */
bool rue_deployment_equal(const struct rue_deployment *a, const struct rue_deployment *b);

/* " on each of 4 ranks", with `space` before the noun; " of rank 3 of 8" of a workload (nullable) that has
 * the share of one rank; "": one loader, or several numbers to compare. */
const char *rue_deployment_say(const struct rue_deployment *deployment, const struct rue_workload *workload,
                               const char *space, char out[RUE_DEPLOYMENT_TEXT_BYTES]);

#endif
