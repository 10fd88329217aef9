/* The line by which a rank joins the tuner, from anybody who can connect: what is accepted is within its
 * bounds, and is the same when it is written again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rank.h"

static const char token[] = "0123456789abcdef0123456789abcdef";

static void check_rank(const struct rue_rank *rank)
{
    struct rue_rank again;
    assert(strlen(rank->wrong) < sizeof rank->wrong);
    for (const char *at = rank->wrong; *at; at++) assert((unsigned char)*at >= ' ' && *at != 127);
    for (const char *at = rank->node; *at; at++) assert(*at > ' ' && *at < 127);
    if (rank->wrong[0]) return;
    assert(rank->rank >= 0 && rank->rank < rank->world_size && rank->world_size <= RUE_LAUNCHED_RANKS_MAX);
    assert(rank->local_rank >= 0 && rank->local_rank < rank->world_size);
    assert(rank->node[0] && strlen(rank->node) < RUE_NODE_BYTES);
    char *line = rue_rank_encode_join(rank, token);
    assert(line && strlen(line) < RUE_JOIN_BYTES - 1);
    assert(rue_rank_decode_join(line, token, &again, NULL) == RUE_OK);
    assert(again.rank == rank->rank && again.world_size == rank->world_size &&
           again.local_rank == rank->local_rank && strcmp(again.node, rank->node) == 0);
    free(line);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    char line[RUE_JOIN_BYTES];
    struct rue_rank rank;
    rue_error error = {0};
    if (bytes >= sizeof line) bytes = sizeof line - 1;
    memcpy(line, data, bytes);
    line[bytes] = 0;
    rue_status status = rue_rank_decode_join(line, token, &rank, &error);
    assert(status == RUE_OK || (status == RUE_RUNNER && error.message[0]));
    if (status == RUE_OK) check_rank(&rank);
    return 0;
}
