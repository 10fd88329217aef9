/* One process of a job on many machines: its numbers, from the launcher, and how it joins the tuner. */
#ifndef RUE_RANK_H
#define RUE_RANK_H

#include <jansson.h>
#include <stdbool.h>

#include "deployment.h"
#include "error.h"

/* The launcher passes this variable to all ranks: HOST:PORT/TOKEN of the tuner. */
#define RUE_RANK_VARIABLE "RUE_TUNER"
/* The same for Open MPI, which passes only variables with this prefix to other nodes. */
#define RUE_RANK_VARIABLE_MPI "OMPI_RUE_TUNER"

enum { RUE_NODE_BYTES = 65, RUE_TOKEN_BYTES = 33, RUE_JOIN_BYTES = 1024, RUE_RANK_WRONG_BYTES = 200 };

struct rue_rank {
    int rank, world_size;             /* 0 <= rank < world_size <= RUE_LAUNCHED_RANKS_MAX */
    int local_rank;                   /* among the ranks of the node */
    char node[RUE_NODE_BYTES];        /* the name of its machine */
    const char *variable;             /* that `rank` was read from, static; NULL: none, or unknown */
    char wrong[RUE_RANK_WRONG_BYTES]; /* why its numbers cannot be used; "": they can */
};

/* Reads this process's rank from the variables of the innermost launcher: torchrun, Open MPI, MVAPICH2, MPICH
 * and others with PMI, Flux, or Slurm. Else from RANK and WORLD_SIZE; without these it is rank 0 of 1.
 * RUE_USAGE, also in `wrong`: a variable is not a number in its range, or the number of ranks is missing. */
rue_status rue_rank_read(struct rue_rank *out, rue_error *error) RUE_MUST_CHECK;

/* Removes this process's own number from its environment: processes that it starts are not that rank. Removes
 * also the nodes of a torchrun: one that it starts has only this node, unless its options name more. */
void rue_rank_unset(void);

/* The first line of a rank to the tuner, without a newline; NULL: out of memory. The caller frees it. */
char *rue_rank_encode_join(const struct rue_rank *rank, const char *token);

/* Reads such a line; if it has `wrong`, sets only that and `node`. RUE_RUNNER: the line is not one, or its
 * token is not `token`; the message continues "the connection". */
rue_status rue_rank_decode_join(const char *line, const char *token, struct rue_rank *out,
                                rue_error *error) RUE_MUST_CHECK;

/* Copies the node of the first rank in `ranks` of struct rue_trial_result (nullable). In a farm, this node
 * made the trial. False: there is none. */
bool rue_rank_find_node(const char *ranks, char out[RUE_NODE_BYTES]);

/* Requests to the agent of a rank (rank_agent.h): send "clock_ns", the time of its monotonic clock; kill its
 * runner. */
#define RUE_RANK_CLOCK "{\"op\":\"clock\"}"
#define RUE_RANK_END   "{\"op\":\"end\"}"

/* How the runner of a rank ended, as its agent reports it. */
struct rue_rank_end {
    char text[128]; /* continues "the runner": "was killed by SIGSEGV" */
    int exit_code;  /* -1: none, or unknown */
    bool out_of_memory;
};

json_t *rue_rank_encode_end(const struct rue_rank_end *end);

/* False: the line is something else. */
bool rue_rank_decode_end(const json_t *line, struct rue_rank_end *out);

#endif
