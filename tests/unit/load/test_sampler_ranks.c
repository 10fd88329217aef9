/* Shares of ranks, over random totals, worlds, seeds and epochs: RUE_SEED repeats them. */
#include "data_fixture.h"
#include "random.h"
#include "sampler.h"
#include "source_index.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { CASES = 6000, SHARD_CASES = 1500, ITEMS_MOST = 300, SHARDS_MOST = 24, SHARD_MOST = 30 };

static uint64_t seed, draws;

static void setup(void)
{
    const char *given = getenv("RUE_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    draws = 0;
    temporary_folder_make();
}

TestSuite(sampler_ranks, .init = setup, .fini = temporary_folder_remove, .timeout = 120);

/* At most `most`. */
static uint64_t draw(uint64_t most)
{
    return rue_mix64(seed + rue_mix64(++draws)) % (most + 1);
}

static struct rue_sampler draw_sampler(uint64_t items)
{
    return (struct rue_sampler){.items = items,
                                .seed = draw(UINT64_MAX - 1),
                                .epoch = draw(1000),
                                .shuffle = draw(3) > 0,
                                .block = draw(2) ? 0 : draw(40),
                                .world_size = 1,
                                .share = (enum rue_share)draw(RUE_SHARE_CONTIGUOUS)};
}

/* The position in the global order that the n-th item of the rank must have. */
static uint64_t expected_position(const struct rue_sampler *sampler, uint64_t n)
{
    uint64_t world = (uint64_t)sampler->world_size, rank = (uint64_t)sampler->rank, first = 0;
    if (sampler->share == RUE_SHARE_STRIDED) return rank + n * world;
    for (uint64_t r = 0; r < rank; r++) first += sampler->items / world + (r < sampler->items % world);
    return first + n;
}

/* Checks the images of an epoch of this rank, where the shares of all ranks lie between these. */
static void check_even(const struct rue_sampler *rank, uint64_t least, uint64_t most)
{
    cr_assert_eq(rue_sampler_images(rank, RUE_EVEN_NONE), rue_sampler_share(rank));
    cr_assert_eq(rue_sampler_images(rank, RUE_EVEN_DROP), least, "RUE_SEED=%" PRIu64, seed);
    cr_assert_eq(rue_sampler_images(rank, RUE_EVEN_PAD), most, "RUE_SEED=%" PRIu64, seed);
}

/* Checks all ranks of one case; returns how many of them have nothing. */
static int check_ranks(struct rue_sampler ranks)
{
    const struct rue_sampler whole = ranks;
    int seen[ITEMS_MOST] = {0}, idle = 0;
    ranks.world_size = 1 + (int)draw(40);
    for (ranks.rank = 0; ranks.rank < ranks.world_size; ranks.rank++) {
        uint64_t share = rue_sampler_share(&ranks), world = (uint64_t)ranks.world_size;
        struct rue_sampler next = ranks;
        next.epoch++;
        cr_assert_eq(share, ranks.items / world + ((uint64_t)ranks.rank < ranks.items % world));
        check_even(&ranks, ranks.items / world, (ranks.items + world - 1) / world);
        for (uint64_t n = 0; n < share; n++) {
            uint64_t item = rue_sampler_item(&ranks, n);
            cr_assert_eq(item, rue_sampler_item(&whole, expected_position(&ranks, n)),
                         "RUE_SEED=%" PRIu64 ": %s rank %d of %d, item %d of %d", seed,
                         rue_share_names[ranks.share], ranks.rank, ranks.world_size, (int)n,
                         (int)ranks.items);
            cr_assert_eq(rue_sampler_item(&ranks, share + n), rue_sampler_item(&next, n),
                         "the next epoch follows");
            seen[item]++;
        }
        idle += share == 0;
    }
    for (uint64_t i = 0; i < ranks.items; i++)
        cr_assert_eq(seen[i], 1, "RUE_SEED=%" PRIu64 ": item %d came %d times", seed, (int)i, seen[i]);
    return idle;
}

Test(sampler_ranks, shares_are_slices_of_one_order_with_every_item_once)
{
    int idle = 0;
    for (int i = 0; i < CASES; i++) idle += check_ranks(draw_sampler(1 + draw(ITEMS_MOST - 1)));
    fprintf(stderr, "%d cases with RUE_SEED=%" PRIu64 ", %d ranks of them with nothing\n", CASES, seed, idle);
}

Test(sampler_ranks, shares_of_large_data_add_up_and_need_no_memory)
{
    for (int i = 0; i < CASES; i++) {
        struct rue_sampler ranks = draw_sampler(1 + draw(UINT64_C(1) << 40)), whole = ranks;
        uint64_t sum = 0;
        ranks.world_size = 1 + (int)draw(300);
        for (ranks.rank = 0; ranks.rank < ranks.world_size; ranks.rank++) sum += rue_sampler_share(&ranks);
        cr_assert_eq(sum, ranks.items);
        ranks.rank = (int)draw((uint64_t)ranks.world_size - 1);
        if (rue_sampler_share(&ranks) == 0) continue;
        uint64_t n = draw(rue_sampler_share(&ranks) - 1);
        cr_assert_eq(rue_sampler_item(&ranks, n), rue_sampler_item(&whole, expected_position(&ranks, n)),
                     "RUE_SEED=%" PRIu64, seed);
    }
}

/* ---- shards ---- */

static const struct rue_source_ops shard_ops = {.format = "shards"};

/* A source of `count` shards with these items. */
static struct rue_source *make_shards(const uint64_t *sizes, size_t count)
{
    struct rue_index index = {.kind = RUE_ITEM_RECORD};
    struct rue_source *source;
    rue_error error = {0};
    temporary_file("shard", "x", 1);
    for (uint32_t s = 0; s < count; s++) {
        data_require(rue_files_add(&index.files, temporary_path("shard"), &error) == RUE_OK, "add", &error);
        const struct rue_entry entry = {.bytes = 1, .file = s};
        for (uint64_t i = 0; i < sizes[s]; i++)
            data_require(rue_index_add(&index, &entry, "", &error) == RUE_OK, "add", &error);
    }
    data_require(rue_source_adopt(&shard_ops, &index, "shards", &source, &error) == RUE_OK, "adopt", &error);
    return source;
}

/* Checks that the rank's items are those of its shards, and marks them. */
static void check_shards(const struct rue_sampler *sampler, const uint64_t *sizes, size_t count, int *seen)
{
    uint64_t first = 0, share = 0, n = 0;
    int marks[SHARDS_MOST * SHARD_MOST] = {0};
    for (uint64_t i = 0; i < rue_sampler_share(sampler); i++) marks[rue_sampler_item(sampler, i)]++;
    for (size_t s = 0; s < count; first += sizes[s++]) {
        if (s % (size_t)sampler->world_size != (size_t)sampler->rank) continue;
        share += sizes[s];
        for (uint64_t i = first; i < first + sizes[s]; i++, n++) {
            cr_assert_eq(marks[i], 1, "RUE_SEED=%" PRIu64 ": item %d of shard %zu", seed, (int)i, s);
            if (!sampler->shuffle) cr_assert_eq(rue_sampler_item(sampler, n), i);
            seen[i]++;
        }
    }
    cr_assert_eq(rue_sampler_share(sampler), share);
}

/* The smallest and the largest share of all ranks. */
static void find_shares(const uint64_t *sizes, size_t count, int world, uint64_t *least, uint64_t *most)
{
    *least = UINT64_MAX, *most = 0;
    for (int rank = 0; rank < world; rank++) {
        uint64_t share = 0;
        for (size_t s = (size_t)rank; s < count; s += (size_t)world) share += sizes[s];
        *least = share < *least ? share : *least;
        *most = share > *most ? share : *most;
    }
}

Test(sampler_ranks, shards_go_whole_to_one_rank_each)
{
    int refused = 0, served = 0;
    for (int i = 0; i < SHARD_CASES; i++) {
        uint64_t sizes[SHARDS_MOST], total = 0;
        size_t count = 1 + draw(SHARDS_MOST - 1);
        int seen[SHARDS_MOST * SHARD_MOST] = {0};
        for (size_t s = 0; s < count; s++) total += sizes[s] = draw(4) ? draw(SHARD_MOST) : 0;
        if (!total) sizes[count - 1] = total = 1;
        struct rue_source *source = make_shards(sizes, count);
        struct rue_sampler sampler = draw_sampler(1);
        sampler.share = RUE_SHARE_SHARDS;
        sampler.world_size = 1 + (int)draw(count - 1);
        uint64_t least, most;
        find_shares(sizes, count, sampler.world_size, &least, &most);
        for (; sampler.rank < sampler.world_size; sampler.rank++) {
            rue_error error = {0};
            rue_status status = rue_sampler_open(&sampler, source, &error);
            if (status == RUE_OK) check_shards(&sampler, sizes, count, seen);
            if (status == RUE_OK) check_even(&sampler, least, most);
            served += status == RUE_OK, refused += status != RUE_OK;
            cr_assert(status == RUE_OK || strstr(error.message, "nothing to load"), "%s", error.message);
            rue_sampler_close(&sampler);
        }
        rue_source_close(source);
        for (uint64_t item = 0; item < total; item++)
            cr_assert_eq(seen[item], 1, "RUE_SEED=%" PRIu64 ": item %d", seed, (int)item);
    }
    fprintf(stderr, "%d cases with RUE_SEED=%" PRIu64 ": %d ranks had items, %d only empty shards\n",
            SHARD_CASES, seed, served, refused);
}

Test(sampler_ranks, one_rank_loads_shards_in_the_order_of_any_share)
{
    const uint64_t sizes[] = {5, 0, 9, 2};
    struct rue_source *source = make_shards(sizes, 4);
    struct rue_sampler whole = {.items = 16, .seed = 4, .shuffle = true, .world_size = 1}, shards = whole;
    shards.share = RUE_SHARE_SHARDS;
    cr_assert_eq(rue_sampler_open(&shards, source, NULL), RUE_OK);
    for (uint64_t i = 0; i < 40; i++) cr_assert_eq(rue_sampler_item(&shards, i), rue_sampler_item(&whole, i));
    rue_sampler_close(&shards);
    rue_source_close(source);
}

/* ---- errors ---- */

static void expect_refusal(const struct rue_source *source, int rank, int world, enum rue_share share,
                           const char *said)
{
    struct rue_sampler sampler = {.rank = rank, .world_size = world, .share = share};
    rue_error error = {0};
    cr_assert_eq(rue_sampler_open(&sampler, source, &error), RUE_USAGE, "%s", said);
    cr_assert_str_eq(error.message, said);
}

Test(sampler_ranks, what_cannot_be_shared_is_refused_with_its_numbers)
{
    const uint64_t sizes[] = {3, 0};
    struct rue_source *source = make_shards(sizes, 2);
    expect_refusal(source, 0, 0, RUE_SHARE_STRIDED,
                   "rank 0 of world_size 0 is out of range: ranks begin at 0");
    expect_refusal(source, 3, 3, RUE_SHARE_STRIDED,
                   "rank 3 of world_size 3 is out of range: ranks begin at 0");
    expect_refusal(source, -1, 3, RUE_SHARE_STRIDED,
                   "rank -1 of world_size 3 is out of range: ranks begin at 0");
    expect_refusal(source, 3, 5, RUE_SHARE_CONTIGUOUS,
                   "rank 3 of 5 has nothing to load: shards has only 3 items; use fewer ranks");
    expect_refusal(source, 1, 2, RUE_SHARE_SHARDS,
                   "rank 1 of 2 has nothing to load: shards has only 3 items, and the rank's shards are "
                   "empty; use fewer ranks");
    expect_refusal(source, 0, 3, RUE_SHARE_SHARDS,
                   "3 ranks cannot share the 2 shards of shards: use 2 ranks or fewer, or strided shares");
    rue_source_close(source);
    data_photos_make(3);
    source = data_open("photos");
    struct rue_sampler sampler = {.world_size = 1, .share = RUE_SHARE_SHARDS};
    rue_error error = {0};
    cr_assert_eq(rue_sampler_open(&sampler, source, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "photos has no shards (its format is folder): use strided"), "%s",
              error.message);
    rue_source_close(source);
}
