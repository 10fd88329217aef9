/* How the items of the data are shared by ranks. */
#ifndef RUE_SHARES_PAGE_H
#define RUE_SHARES_PAGE_H

#include <jansson.h>

#include "section.h"

/* Positions in the order of an epoch; of a file, items. Paths are borrowed. */
struct rue_rank_share {
    uint64_t items, bytes, first, last;
    size_t shards; /* 0: the share does not consist of shards */
    const char *first_shard, *last_shard;
};

struct rue_rank_shares {
    const char *how; /* "strided"; of a file its path. Borrowed */
    size_t count;
    struct rue_rank_share *at; /* [count] */
};

/* The shares as sentences and a table; as an object for JSON (a new reference; NULL: out of memory). */
void rue_rank_shares_put(const struct rue_rank_shares *shares, struct rue_page *page);
json_t *rue_rank_shares_json(const struct rue_rank_shares *shares);

#endif
