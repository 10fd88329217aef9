/* Parts of the data that take turns. RUE_SEED repeats the random cases. */
#include "turns.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "data_fixture.h"
#include "loader.h"
#include "parts.h"
#include "prepare.h"
#include "random.h"

enum { CASES = 3000, PARTS_MOST = 9, PART_MOST = 60, PHOTOS = 40 };

static uint64_t seed, draws;

static void setup(void)
{
    const char *given = getenv("RUE_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    draws = 0;
    temporary_folder_make();
}

TestSuite(turns, .init = setup, .fini = temporary_folder_remove, .timeout = 120);

/* At most `most`. */
static uint64_t draw(uint64_t most)
{
    return rue_mix64(seed + rue_mix64(++draws)) % (most + 1);
}

/* The whole order, checked against one that is dealt turn by turn. */
static void check_order(const uint64_t *firsts, size_t count, uint64_t turn)
{
    struct rue_turns *turns;
    uint64_t next[PARTS_MOST + 1], place = 0;
    memcpy(next, firsts, sizeof next);
    cr_assert_eq(rue_turns_open(firsts, count, turn, &turns, NULL), RUE_OK);
    for (bool dealt = true; dealt;) {
        dealt = false;
        for (uint64_t whole = PART_MOST; whole > 0; whole--) /* the largest part first */
            for (size_t p = 0; p < count; p++) {
                if ((firsts[p + 1] - firsts[p]) / turn != whole || firsts[p + 1] - next[p] < turn) continue;
                for (uint64_t i = 0; i < turn; i++)
                    cr_assert_eq(rue_turns_item(turns, place++), next[p]++, "RUE_SEED=%" PRIu64, seed);
                dealt = true;
            }
    }
    for (size_t p = 0; p < count; p++)
        while (next[p] < firsts[p + 1])
            cr_assert_eq(rue_turns_item(turns, place++), next[p]++, "RUE_SEED=%" PRIu64, seed);
    cr_assert_eq(place, firsts[count]);
    rue_turns_close(turns);
}

Test(turns, every_part_gives_a_turn_in_each_round_and_all_items_come_once)
{
    for (int i = 0; i < CASES; i++) {
        uint64_t firsts[PARTS_MOST + 1] = {0};
        size_t count = 1 + draw(PARTS_MOST - 1);
        for (size_t p = 0; p < count; p++) firsts[p + 1] = firsts[p] + (draw(5) ? draw(PART_MOST) : 0);
        check_order(firsts, count, 1 + draw(12));
    }
}

/* ---- what the parts are ---- */

static void expect_parts(const char *name, const uint64_t *firsts, size_t count)
{
    struct rue_source *source = data_open(name);
    rue_error error = {0};
    uint64_t *found;
    size_t found_count;
    data_require(rue_parts_find(source, &found, &found_count, &error) == RUE_OK, "parts", &error);
    cr_assert_eq(found_count, count, "%s: %zu parts", name, found_count);
    for (size_t p = 0; p < count; p++) cr_assert_eq(found[p], firsts[p], "%s, part %zu", name, p);
    cr_assert_eq(found[count], rue_source_count(source));
    free(found);
    rue_source_close(source);
}

static void convert(const char *from, const char *name, const char *format, uint64_t shard_bytes)
{
    const struct rue_prepare_options options = {.format = format,
                                                .mode = RUE_MODE_COUNT,
                                                .dtype = RUE_DTYPE_COUNT,
                                                .split = "train",
                                                .shard_bytes = shard_bytes,
                                                .num_workers = 1,
                                                .max_pixels = RUE_MAX_PIXELS_DEFAULT};
    char source[4096];
    struct rue_prepared done;
    rue_error error = {0};
    snprintf(source, sizeof source, "%s", temporary_path(from));
    data_require(rue_prepare_convert(source, temporary_path(name), &options, NULL, &done, &error) == RUE_OK,
                 name, &error);
}

/* 40 photos: 14, 13 and 13 of three classes. */
static const uint64_t classes[] = {0, 14, 27};

Test(turns, parts_are_classes_in_every_format_that_has_them_in_order)
{
    data_photos_make(PHOTOS);
    expect_parts("photos", classes, 3);
    static const char *const formats[] = {"lmdb", "tensor", "webdataset", "tfrecord"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        convert("photos", formats[f], formats[f], 1 << 30);
        expect_parts(formats[f], classes, 3);
    }
    convert("photos", "zarr", "zarr", 0);
    expect_parts("zarr", classes, 1);
    temporary_text("list.csv", "path,label\nphotos/class_2/0001.jpg,x\nphotos/class_0/0001.jpg,a\n"
                               "photos/class_0/0002.jpg,a\n");
    expect_parts("list.csv", (const uint64_t[]){0, 1}, 2);
    temporary_text("mixed.csv", "path,label\nphotos/class_0/0001.jpg,a\nphotos/class_2/0001.jpg,x\n"
                                "photos/class_0/0002.jpg,a\n");
    expect_parts("mixed.csv", (const uint64_t[]){0}, 1);
}

Test(turns, parts_are_data_sets_that_a_folder_has_links_to)
{
    data_photos_make(PHOTOS);
    temporary_text("mix/README", "two data sets");
    char target[4096];
    snprintf(target, sizeof target, "%s", temporary_path("photos"));
    cr_assert_eq(symlink(target, temporary_path("mix/all")), 0);
    snprintf(target, sizeof target, "%s", temporary_path("photos/class_1"));
    cr_assert_eq(symlink(target, temporary_path("mix/some")), 0);
    expect_parts("mix", (const uint64_t[]){0, PHOTOS}, 2);
}

Test(turns, parts_are_shards_or_their_folders)
{
    data_photos_make(PHOTOS);
    convert("photos/class_0", "a", "webdataset", 6000);
    convert("photos/class_1", "b", "webdataset", 6000);
    struct rue_source *source = data_open("a");
    size_t shards = rue_source_shards(source);
    uint64_t firsts[64];
    cr_assert(shards > 2 && shards < 64);
    for (size_t s = 0; s < shards; s++) firsts[s] = rue_source_shard_first(source, s);
    rue_source_close(source);
    expect_parts("a", firsts, shards);
    expect_parts("{a,b}/train-{000000..000001}.tar", (const uint64_t[]){0, firsts[2]}, 2);
}

/* ---- the order of a rank ---- */

/* Checks the batches of a rank, and marks its items. */
static void check_rank(const struct rue_sampler *sampler, const struct rue_source *source, int *seen)
{
    uint64_t share = rue_sampler_share(sampler), pure = 0, left[3] = {0};
    int32_t last = -1;
    for (uint64_t i = 0; i < share; i++) left[rue_source_label(source, rue_sampler_item(sampler, i))]++;
    for (int c = 0; c < 3; c++) pure += left[c] / sampler->turn;
    for (uint64_t i = 0; i < share; i++) {
        uint64_t item = rue_sampler_item(sampler, i);
        int32_t label = rue_source_label(source, item);
        seen[item]++;
        if (i >= pure * sampler->turn) continue;
        if (i % sampler->turn) {
            cr_assert_eq(label, last, "a batch is of one part");
            continue;
        }
        for (int c = 0; c < 3; c++)
            cr_assert(label != last || c == label || left[c] < sampler->turn, "others have their turn");
        left[label] -= sampler->turn;
        last = label;
    }
}

Test(turns, batches_of_a_rank_are_of_one_part_in_turn_and_all_ranks_load_each_item_once)
{
    data_photos_make(PHOTOS);
    struct rue_source *source = data_open("photos");
    for (int i = 0; i < 200; i++) {
        struct rue_loader_options options = {.batch_size = 1 + (int)draw(6),
                                             .batch_strategy = RUE_BATCHES_ROUND_ROBIN};
        int seen[PHOTOS] = {0};
        options.sampler = (struct rue_sampler){.seed = draw(1000),
                                               .epoch = draw(9),
                                               .shuffle = draw(1),
                                               .world_size = 1 + (int)draw(4),
                                               .share = (enum rue_share)draw(RUE_SHARE_CONTIGUOUS)};
        for (; options.sampler.rank < options.sampler.world_size; options.sampler.rank++) {
            struct rue_sampler sampler = rue_loader_sampler(&options);
            cr_assert_eq(rue_sampler_open(&sampler, source, NULL), RUE_OK);
            check_rank(&sampler, source, seen);
            rue_sampler_close(&sampler);
        }
        for (int item = 0; item < PHOTOS; item++)
            cr_assert_eq(seen[item], 1, "RUE_SEED=%" PRIu64 ": item %d", seed, item);
    }
    rue_source_close(source);
}

Test(turns, ranks_that_share_shards_take_turns_among_their_own)
{
    data_photos_make(PHOTOS);
    convert("photos", "a", "webdataset", 12000);
    struct rue_source *source = data_open("a");
    int seen[PHOTOS] = {0};
    for (int rank = 0; rank < 2; rank++) {
        struct rue_sampler sampler = {
            .turn = 2, .shuffle = true, .rank = rank, .world_size = 2, .share = RUE_SHARE_SHARDS};
        cr_assert_eq(rue_sampler_open(&sampler, source, NULL), RUE_OK);
        cr_assert_geq(rue_sampler_share(&sampler), 4);
        for (uint64_t i = 0; i < rue_sampler_share(&sampler); i++) seen[rue_sampler_item(&sampler, i)]++;
        for (uint64_t shard = 0, i = 0; i < 4; i++) {
            uint64_t item = rue_sampler_item(&sampler, i), at = 0;
            while (rue_source_shard_first(source, at + 1) <= item) at++;
            cr_assert_eq(at % 2, (uint64_t)rank);
            cr_assert(i == 0 || (at == shard) == (i % 2 == 1), "two items of a shard, two of the next");
            shard = at;
        }
        rue_sampler_close(&sampler);
    }
    for (uint64_t item = 0; item < rue_source_count(source); item++) cr_assert_eq(seen[item], 1);
    rue_source_close(source);
}
