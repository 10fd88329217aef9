#include "item_index.h"

#include <criterion/criterion.h>

#include "temporary_folder.h"

TestSuite(item_index, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static bool takes(const char *name)
{
    return name[0] == 's';
}

static struct rue_shard_set *open_set(void)
{
    struct rue_shard_set *set = NULL;
    cr_assert_eq(rue_shard_set_open(temporary_folder, takes, &set, NULL), RUE_OK);
    return set;
}

static struct rue_item_index make_index(uint64_t count)
{
    struct rue_item_index index = {.facts = {1, 2, 3, 4}};
    char name[32];
    for (uint64_t i = 0; i < count; i++) {
        const struct rue_index_entry entry = {
            .offset = i * 100, .bytes = 50 + i, .shard = (uint32_t)(i % 2), .label = (int32_t)i * 3};
        snprintf(name, sizeof name, "name/%d", (int)i);
        cr_assert_eq(rue_item_index_add(&index, &entry, name, NULL), RUE_OK);
    }
    rue_item_index_skip(&index, "file", "a link");
    rue_item_index_skip(&index, "other", "a device");
    return index;
}

Test(item_index, what_was_kept_is_loaded_as_it_was)
{
    temporary_text("s1", "one");
    temporary_text("s2", "two");
    struct rue_item_index index = make_index(5000), loaded = {0};
    struct rue_shard_set *set = open_set();
    cr_assert(!rue_item_index_load(&loaded, set, "a"));
    rue_item_index_keep(&index, set, "a");
    cr_assert_eq(temporary_entries(), 3);
    cr_assert(!rue_item_index_load(&loaded, set, "b"));
    cr_assert(rue_item_index_load(&loaded, set, "a"));
    cr_assert_eq(loaded.count, 5000);
    cr_assert_eq(loaded.skipped, 2);
    cr_assert_str_eq(loaded.skipped_example, "file, a link");
    cr_assert_eq(loaded.facts[3], 4);
    cr_assert_str_eq(rue_item_index_name(&loaded, 4321), "name/4321");
    cr_assert_eq(loaded.entries[4321].label, 3 * 4321);
    cr_assert_eq(rue_item_index_digest(&loaded), rue_item_index_digest(&index));
    rue_item_index_free(&loaded);
    rue_item_index_free(&index);
    rue_shard_set_close(set);
}

Test(item_index, it_is_stale_once_a_shard_is_changed_added_or_gone)
{
    for (int how = 0; how < 4; how++) {
        temporary_folder_remove();
        temporary_folder_make();
        temporary_text("s1", "one");
        temporary_text("s2", "two");
        struct rue_item_index index = make_index(10), loaded = {0};
        struct rue_shard_set *set = open_set();
        rue_item_index_keep(&index, set, "a");
        rue_shard_set_close(set);
        if (how == 0) temporary_text("s1", "four");
        if (how == 1) temporary_text("s3", "three");
        if (how == 2) unlink(temporary_path("s2"));
        if (how == 3) utimensat(AT_FDCWD, temporary_path("s1"), (struct timespec[2]){{1, 2}, {3, 4}}, 0);
        set = open_set();
        cr_assert(!rue_item_index_load(&loaded, set, "a"), "%d", how);
        rue_shard_set_close(set);
        rue_item_index_free(&index);
    }
}

Test(item_index, no_two_data_sets_have_one_digest)
{
    struct rue_item_index index = make_index(10), other = make_index(10);
    cr_assert_eq(rue_item_index_digest(&index), rue_item_index_digest(&other));
    other.entries[3].bytes++;
    cr_assert_neq(rue_item_index_digest(&index), rue_item_index_digest(&other));
    other.entries[3].bytes--;
    other.names[2] ^= 1;
    cr_assert_neq(rue_item_index_digest(&index), rue_item_index_digest(&other));
    other.names[2] ^= 1;
    other.facts[0]++;
    cr_assert_neq(rue_item_index_digest(&index), rue_item_index_digest(&other));
    rue_item_index_free(&index);
    rue_item_index_free(&other);
}

static void keep(const char *name, const char *asked)
{
    struct rue_shard_set *set = NULL;
    struct rue_item_index index = make_index(1);
    cr_assert_eq(rue_shard_set_open(name, takes, &set, NULL), RUE_OK);
    rue_item_index_keep(&index, set, asked);
    rue_item_index_free(&index);
    rue_shard_set_close(set);
}

static bool has(const char *name, const char *asked)
{
    struct rue_shard_set *set = NULL;
    struct rue_item_index loaded = {0};
    cr_assert_eq(rue_shard_set_open(name, takes, &set, NULL), RUE_OK);
    bool found = rue_item_index_load(&loaded, set, asked);
    rue_item_index_free(&loaded);
    rue_shard_set_close(set);
    return found;
}

Test(item_index, those_of_former_shards_are_removed_and_no_others)
{
    char pair[PATH_MAX], one[PATH_MAX];
    snprintf(pair, sizeof pair, "%s/s{1..2}", temporary_folder);
    snprintf(one, sizeof one, "%s/s1", temporary_folder);
    temporary_text("s1", "one");
    temporary_text("s2", "two");
    temporary_text("other/s1", "one");
    temporary_text(".rue-index-0123456789abcdef", "not ours");
    temporary_text(".rue-index-x", "not ours");
    cr_assert_eq(rename(temporary_path("other"), temporary_path(".other")), 0);
    keep(pair, "a");
    keep(one, "a");
    keep(temporary_folder, "b");
    cr_assert(has(pair, "a") && has(one, "a") && has(temporary_folder, "b"), "all may be used");
    int before = temporary_entries();
    temporary_text("s3", "three");
    keep(temporary_folder, "b");
    cr_assert_eq(temporary_entries(), before + 1, "the index of the folder took the place of the former one");
    cr_assert(has(pair, "a") && has(one, "a") && has(temporary_folder, "b"));
    temporary_text("s2", "changed");
    keep(temporary_folder, "c");
    cr_assert_eq(temporary_entries(), before, "two are stale, one is new");
    cr_assert(has(one, "a") && has(temporary_folder, "c"));
    unlink(temporary_path("s2"));
    unlink(temporary_path("s1"));
    keep(temporary_folder, "c");
    cr_assert_eq(temporary_entries(), before - 3, "all former ones are stale");
    cr_assert(has(temporary_folder, "c"));
}

Test(item_index, shards_of_several_folders_have_one)
{
    char both[PATH_MAX];
    snprintf(both, sizeof both, "%s/{x,y}/s1", temporary_folder);
    temporary_text("x/s1", "one");
    temporary_text("y/s1", "one");
    keep(both, "a");
    cr_assert(has(both, "a"));
    snprintf(both, sizeof both, "%s/x", temporary_folder);
    keep(both, "b");
    snprintf(both, sizeof both, "%s/{x,y}/s1", temporary_folder);
    cr_assert(has(both, "a"), "it stays");
}
