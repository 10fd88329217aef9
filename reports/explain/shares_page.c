#include "shares_page.h"

#include <math.h>
#include <string.h>

#include "json_document.h"
#include "prose.h"
#include "units.h"

/* The sums over all ranks, and the largest shares. */
struct balance {
    uint64_t items, bytes, most_items, most_bytes;
    size_t idle; /* ranks with nothing */
};

static struct balance sum_shares(const struct rue_rank_shares *shares)
{
    struct balance balance = {0};
    for (size_t r = 0; r < shares->count; r++) {
        const struct rue_rank_share *share = &shares->at[r];
        balance.items += share->items;
        balance.bytes += share->bytes;
        balance.idle += share->items == 0;
        if (share->items > balance.most_items) balance.most_items = share->items;
        if (share->bytes > balance.most_bytes) balance.most_bytes = share->bytes;
    }
    return balance;
}

/* How much larger than the mean the largest share is. */
static double imbalance(const struct rue_rank_shares *shares, uint64_t most, uint64_t sum)
{
    return sum ? (double)most * (double)shares->count / (double)sum - 1 : 0;
}

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

static void put_table(const struct rue_rank_shares *shares, size_t rows, struct rue_page *page)
{
    rue_page_table(page);
    for (size_t r = 0; r < rows; r++) {
        const struct rue_rank_share *share = &shares->at[r];
        bool ordered = share->items && !share->shards;
        double shard_count = share->shards ? (double)share->shards : NAN;
        const struct rue_table_column row[] = {
            {"rank", "rank", RUE_UNIT_COUNT, .number = (double)r},
            {"items", "items", RUE_UNIT_COUNT, .number = (double)share->items},
            {"first", "first position", RUE_UNIT_COUNT, .number = ordered ? (double)share->first : NAN},
            {"last", "last position", RUE_UNIT_COUNT, .number = ordered ? (double)share->last : NAN},
            {"shards", "shards", RUE_UNIT_COUNT, .number = shard_count},
            {"first_shard", "first shard", .text = file_name(share->first_shard), .shrink_to = 16},
            {"last_shard", "last shard", .text = file_name(share->last_shard), .shrink_to = 16},
            {"bytes", "size", RUE_UNIT_BYTES, .number = (double)share->bytes},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
    }
}

void rue_rank_shares_put(const struct rue_rank_shares *shares, struct rue_page *page)
{
    enum { ROWS = 64 };
    char items[RUE_UNIT_TEXT_BYTES], most[RUE_UNIT_TEXT_BYTES];
    const struct balance balance = sum_shares(shares);
    size_t rows = shares->count < ROWS ? shares->count : ROWS;
    put_table(shares, rows, page);
    if (rows < shares->count) {
        rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
        rue_say(page, "... and %zu more rank%s (all of them: --json)", shares->count - rows,
                rue_prose_plural(shares->count - rows));
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Each of the %s item%s belongs to exactly one of %zu rank%s (%s). ",
            rue_format_count(balance.items, items, sizeof items), rue_prose_plural(balance.items),
            shares->count, rue_prose_plural(shares->count), shares->how);
    rue_say(page, "The largest share has %s item%s, %.1f %% more than the mean; by bytes, %.1f %%.",
            rue_format_count(balance.most_items, most, sizeof most), rue_prose_plural(balance.most_items),
            100 * imbalance(shares, balance.most_items, balance.items),
            100 * imbalance(shares, balance.most_bytes, balance.bytes));
    if (balance.idle)
        rue_say(page, " %zu rank%s nothing to load: use fewer ranks.", balance.idle,
                balance.idle == 1 ? " has" : "s have");
}

json_t *rue_rank_shares_json(const struct rue_rank_shares *shares)
{
    struct rue_page page = {0};
    const struct balance balance = sum_shares(shares);
    put_table(shares, shares->count, &page);
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o}", "share", shares->how, "ranks", (json_int_t)shares->count,
        "items_imbalance_ratio", rue_json_real(imbalance(shares, balance.most_items, balance.items)),
        "bytes_imbalance_ratio", rue_json_real(imbalance(shares, balance.most_bytes, balance.bytes)),
        "shares", rue_page_json_table(&page));
}
