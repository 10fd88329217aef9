#include "rank_shares.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "csv.h"
#include "files.h"
#include "trial_options.h"

enum { FILE_BYTES_MAX = 1 << 26 };

static rue_status allocate_shares(struct rue_rank_shares *shares, size_t count, rue_error *error)
{
    shares->at = calloc(count, sizeof *shares->at);
    if (!shares->at) return rue_fail_memory(error, "shares", count * sizeof *shares->at);
    shares->count = count;
    return RUE_OK;
}

/* ---- dealt by the sampler ---- */

/* Adds the items of the rank to its share, and marks them in `seen`, a bit each. */
static rue_status add_items(const struct rue_source *source, const struct rue_sampler *sampler,
                            unsigned char *seen, struct rue_rank_share *share, rue_error *error)
{
    share->items = rue_sampler_share(sampler);
    for (uint64_t i = 0; i < share->items; i++) {
        uint64_t item = rue_sampler_item(sampler, i);
        unsigned char bit = (unsigned char)(1 << item % 8);
        if (seen[item / 8] & bit)
            return rue_fail(error, RUE_INTERNAL, "item %" PRIu64 " belongs to two ranks", item);
        seen[item / 8] |= bit;
        share->bytes += rue_source_bytes(source, item);
    }
    return RUE_OK;
}

static void set_place(const struct rue_source *source, const struct rue_sampler *sampler, uint64_t before,
                      struct rue_rank_share *share)
{
    size_t rank = (size_t)sampler->rank, world = (size_t)sampler->world_size;
    bool strided = sampler->share == RUE_SHARE_STRIDED;
    share->first = strided ? rank : before;
    share->last = share->first + (share->items - 1) * (strided ? world : 1);
    if (sampler->share != RUE_SHARE_SHARDS) return;
    share->shards = (rue_source_shards(source) - rank + world - 1) / world;
    share->first_shard = rue_source_shard_path(source, rank);
    share->last_shard = rue_source_shard_path(source, rank + (share->shards - 1) * world);
}

static rue_status deal_items(const struct rue_source *source, size_t ranks, enum rue_share how,
                             unsigned char *seen, struct rue_rank_shares *out, rue_error *error)
{
    const struct rue_workload usual = rue_workload_default();
    struct rue_sampler sampler = rue_workload_sampler(&usual);
    rue_status status = RUE_OK;
    uint64_t dealt = 0;
    sampler.world_size = (int)ranks;
    sampler.share = how;
    for (; status == RUE_OK && (size_t)sampler.rank < ranks; sampler.rank++) {
        struct rue_rank_share *share = &out->at[sampler.rank];
        rue_error why = {0};
        rue_status opened = rue_sampler_open(&sampler, source, &why);
        bool can_share = how != RUE_SHARE_SHARDS || rue_source_shards(source) >= ranks;
        if (opened == RUE_OK)
            status = add_items(source, &sampler, seen, share, error);
        else if (opened != RUE_USAGE || !can_share)
            status = rue_fail(error, opened, "%s", why.message);
        if (status == RUE_OK) set_place(source, &sampler, dealt, share);
        dealt += share->items;
        rue_sampler_close(&sampler);
    }
    if (status == RUE_OK && dealt != rue_source_count(source))
        return rue_fail(error, RUE_INTERNAL, "%" PRIu64 " items belong to no rank",
                        rue_source_count(source) - dealt);
    return status;
}

/* ---- ranges of a file ---- */

struct range {
    uint64_t rank, first, count, line;
};

struct ranges {
    const char *path;
    struct range *at; /* [count] */
    size_t count, capacity;
};

static bool parse_count(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    *out = strtoull(text, NULL, 10);
    return digits > 0 && digits <= 18 && !text[digits];
}

static rue_status add_range(struct ranges *ranges, const struct rue_csv_record *record, uint64_t items,
                            rue_error *error)
{
    struct range range = {.line = record->line};
    bool valid = record->count == 3 && parse_count(record->fields[0], &range.rank) &&
                 parse_count(record->fields[1], &range.first) && parse_count(record->fields[2], &range.count);
    if (!valid || range.rank >= RUE_RANKS_MAX || range.count < 1)
        return rue_fail(error, RUE_DATA,
                        "%s, line %" PRIu64
                        ": expected a rank below %d, its first item, and a count of at least 1",
                        ranges->path, range.line, RUE_RANKS_MAX);
    if (range.first + range.count > items)
        return rue_fail(error, RUE_DATA,
                        "%s, line %" PRIu64 ": items %" PRIu64 " to %" PRIu64
                        " are out of range: the last item of the data is %" PRIu64,
                        ranges->path, range.line, range.first, range.first + range.count - 1, items - 1);
    rue_status status = rue_array_grow(&ranges->at, &ranges->capacity, ranges->count + 1, sizeof *ranges->at,
                                       "ranges", error);
    if (status == RUE_OK) ranges->at[ranges->count++] = range;
    return status;
}

static rue_status parse_ranges(struct ranges *ranges, struct rue_csv *csv, uint64_t items, rue_error *error)
{
    static const char *const header[] = {"rank", "first", "count"};
    struct rue_csv_record record;
    bool found;
    rue_status status = rue_csv_next(csv, &found, &record, error);
    if (status != RUE_OK) return status;
    bool valid = found && record.count == 3;
    for (size_t i = 0; valid && i < 3; i++) valid = strcmp(record.fields[i], header[i]) == 0;
    if (!valid)
        return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": expected the header " RUE_RANKS_HEADER,
                        ranges->path, found ? record.line : 1);
    status = rue_csv_next(csv, &found, &record, error);
    while (status == RUE_OK && found) {
        status = add_range(ranges, &record, items, error);
        if (status == RUE_OK) status = rue_csv_next(csv, &found, &record, error);
    }
    if (status == RUE_OK && !ranges->count)
        return rue_fail(error, RUE_DATA, "%s has no ranges: add a line for each rank", ranges->path);
    return status;
}

static rue_status read_ranges(struct ranges *ranges, uint64_t items, rue_error *error)
{
    struct rue_files *files = NULL;
    struct rue_csv *csv = NULL;
    char *text = NULL;
    rue_status status = rue_files_add(&files, ranges->path, error);
    uint64_t bytes = status == RUE_OK ? rue_files_identity(files, 0).bytes : 0;
    if (bytes > FILE_BYTES_MAX)
        status = rue_fail(error, RUE_DATA, "%s is larger than %d bytes", ranges->path, FILE_BYTES_MAX);
    if (status == RUE_OK && !(text = calloc(bytes + 1, 1))) status = rue_fail_memory(error, "ranges", bytes);
    if (status == RUE_OK) status = rue_files_read(files, 0, text, bytes, 0, error);
    rue_files_close(files);
    if (status != RUE_OK) return free(text), status;
    status = rue_csv_open(ranges->path, text, bytes, &csv, error);
    if (status == RUE_OK) status = parse_ranges(ranges, csv, items, error);
    rue_csv_close(csv);
    return status;
}

static int by_first(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->line < y->line ? -1 : 1;
}

static rue_status fail_gap(const struct ranges *ranges, const struct range *range, const char *where,
                           uint64_t from, uint64_t to, rue_error *error)
{
    return rue_fail(error, RUE_DATA,
                    "%s, line %" PRIu64 ": items %" PRIu64 " to %" PRIu64 " %s this range belong to no rank",
                    ranges->path, range->line, from, to - 1, where);
}

/* Sorts the ranges by their items. They must cover each item once. */
static rue_status check_ranges(struct ranges *ranges, uint64_t items, rue_error *error)
{
    uint64_t next = 0;
    qsort(ranges->at, ranges->count, sizeof *ranges->at, by_first);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->at[i], *before = range - (i > 0);
        uint64_t end = range->first + range->count;
        if (range->first > next) return fail_gap(ranges, range, "before", next, range->first, error);
        if (range->first < next)
            return rue_fail(error, RUE_DATA,
                            "%s, line %" PRIu64 ": items %" PRIu64 " to %" PRIu64
                            " overlap those of line %" PRIu64 " (rank %" PRIu64 ")",
                            ranges->path, range->line, range->first, (end < next ? end : next) - 1,
                            before->line, before->rank);
        next = end;
    }
    if (next == items) return RUE_OK;
    return fail_gap(ranges, &ranges->at[ranges->count - 1], "after", next, items, error);
}

/* The ranges are sorted by their items. */
static rue_status deal_ranges(const struct rue_source *source, const struct ranges *ranges,
                              struct rue_rank_shares *out, rue_error *error)
{
    uint64_t most = 0;
    for (size_t i = 0; i < ranges->count; i++) most = ranges->at[i].rank > most ? ranges->at[i].rank : most;
    rue_status status = allocate_shares(out, most + 1, error);
    for (size_t i = 0; status == RUE_OK && i < ranges->count; i++) {
        const struct range *range = &ranges->at[i];
        struct rue_rank_share *share = &out->at[range->rank];
        if (!share->items) share->first = range->first;
        share->items += range->count;
        share->last = range->first + range->count - 1;
        for (uint64_t item = range->first; item <= share->last; item++)
            share->bytes += rue_source_bytes(source, item);
    }
    return status;
}

static rue_status open_file(const struct rue_source *source, const char *path, struct rue_rank_shares *out,
                            rue_error *error)
{
    struct ranges ranges = {.path = path};
    uint64_t items = rue_source_count(source);
    rue_status status = read_ranges(&ranges, items, error);
    if (status == RUE_OK) status = check_ranges(&ranges, items, error);
    if (status == RUE_OK) status = deal_ranges(source, &ranges, out, error);
    free(ranges.at);
    return status;
}

/* ---- all shares ---- */

bool rue_ranks_are_counted(const char *ranks)
{
    uint64_t number;
    return parse_count(ranks, &number) || (strchr("+-0123456789", ranks[0]) && access(ranks, F_OK) != 0);
}

rue_status rue_rank_shares_open(const struct rue_source *source, const char *ranks, enum rue_share share,
                                struct rue_rank_shares *out, rue_error *error)
{
    uint64_t number;
    *out = (struct rue_rank_shares){.how = ranks};
    if (!rue_ranks_are_counted(ranks)) return open_file(source, ranks, out, error);
    out->how = rue_share_names[share];
    if (!parse_count(ranks, &number) || number < 1 || number > RUE_RANKS_MAX)
        return rue_fail(error, RUE_USAGE, "--ranks %s: expected 1 to %d ranks, or a CSV file", ranks,
                        RUE_RANKS_MAX);
    rue_status status = allocate_shares(out, number, error);
    if (status != RUE_OK) return status;
    unsigned char *seen = calloc(rue_source_count(source) / 8 + 1, 1);
    status = seen ? deal_items(source, number, share, seen, out, error)
                  : rue_fail_memory(error, "marks of items", rue_source_count(source) / 8);
    free(seen);
    return status;
}

void rue_rank_shares_close(struct rue_rank_shares *shares)
{
    free(shares->at);
    shares->at = NULL;
}
