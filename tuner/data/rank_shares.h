/* The shares of ranks: dealt by rue's sampler, or ranges that a file gives. */
#ifndef RUE_RANK_SHARES_H
#define RUE_RANK_SHARES_H

#include "loading.h"
#include "shares_page.h"
#include "source.h"

/* The header of such a file. A line gives `rank` the items `first` to `first` + `count` - 1 of the data. */
#define RUE_RANKS_HEADER "rank,first,count"

enum { RUE_RANKS_MAX = 65536 };

/* Whether this is meant as a number of ranks: it begins like one, and is not a file. */
bool rue_ranks_are_counted(const char *ranks);

/* Deals the items of one epoch to `ranks`: a number, or a file. Checks that each item belongs to one rank.
 * RUE_USAGE: not a number of ranks, or too many for the shards. RUE_DATA: ranges of the file overlap, leave
 * gaps or are out of range; the message names the line. RUE_MEMORY. */
rue_status rue_rank_shares_open(const struct rue_source *source, const char *ranks, enum rue_share share,
                                struct rue_rank_shares *out, rue_error *error) RUE_MUST_CHECK;
void rue_rank_shares_close(struct rue_rank_shares *shares);

#endif
