#include "index_file.h"

#include <criterion/criterion.h>

#include "shards.h"
#include "temporary_folder.h"

TestSuite(index_file, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static bool is_shard(const char *name)
{
    return name[0] == 's';
}

/* An index of what `path` names, without items. */
static struct rue_index open_files(const char *path)
{
    struct rue_index index = {0};
    cr_assert_eq(rue_shards_add(path, is_shard, &index.files, NULL), RUE_OK);
    return index;
}

static struct rue_index make_index(const char *path, uint64_t count)
{
    struct rue_index index = open_files(path);
    char name[32];
    index.mode = RUE_PREPROCESSED;
    index.dtype = RUE_UINT8;
    index.shape[2] = 7;
    index.compressed = true;
    for (uint64_t i = 0; i < count; i++) {
        const struct rue_entry entry = {.offset = i * 100, .bytes = 50 + i, .label = (int32_t)i * 3};
        snprintf(name, sizeof name, "name/%d", (int)i);
        cr_assert_eq(rue_index_add(&index, &entry, name, NULL), RUE_OK);
    }
    rue_index_skip(&index, "file, a link");
    rue_index_skip(&index, "other, a device");
    rue_index_note(&index, "no labels%c", '\n');
    rue_index_note(&index, "two %s", "shards");
    return index;
}

static void close_index(struct rue_index *index)
{
    rue_files_close(index->files);
    free(index->entries);
    free(index->names.text);
}

static void keep(const char *path, const char *asked)
{
    struct rue_index index = make_index(path, 1);
    rue_index_file_save(&index, path, asked);
    close_index(&index);
}

static bool has(const char *path, const char *asked)
{
    struct rue_index loaded = open_files(path);
    bool found = rue_index_file_load(&loaded, path, asked);
    close_index(&loaded);
    return found;
}

Test(index_file, a_saved_index_is_loaded_unchanged)
{
    temporary_text("s1", "one");
    temporary_text("s2", "two");
    struct rue_index index = make_index(temporary_folder, 5000), loaded = open_files(temporary_folder);
    cr_assert(!rue_index_file_load(&loaded, temporary_folder, "a"));
    rue_index_file_save(&index, temporary_folder, "a");
    cr_assert_eq(temporary_entries(), 3);
    cr_assert(!rue_index_file_load(&loaded, temporary_folder, "b"));
    cr_assert(rue_index_file_load(&loaded, temporary_folder, "a"));
    cr_assert(loaded.count == 5000 && loaded.remarks.skipped == 2 && loaded.compressed);
    cr_assert(loaded.mode == RUE_PREPROCESSED && loaded.dtype == RUE_UINT8 && loaded.shape[2] == 7);
    cr_assert_str_eq(loaded.remarks.skipped_example, "file, a link");
    cr_assert_str_eq(loaded.remarks.note, "no labels?; two shards");
    cr_assert_str_eq(rue_index_name(&loaded, 4321), "name/4321");
    cr_assert_eq(memcmp(&loaded.entries[4321], &index.entries[4321], sizeof *index.entries), 0);
    close_index(&loaded);
    close_index(&index);
}

Test(index_file, is_stale_after_a_shard_is_changed_added_or_removed)
{
    for (int how = 0; how < 4; how++) {
        temporary_folder_remove();
        temporary_folder_make();
        temporary_text("s1", "one");
        temporary_text("s2", "two");
        keep(temporary_folder, "a");
        cr_assert(has(temporary_folder, "a"));
        if (how == 0) temporary_text("s1", "four");
        if (how == 1) temporary_text("s3", "three");
        if (how == 2) unlink(temporary_path("s2"));
        if (how == 3) utimensat(AT_FDCWD, temporary_path("s1"), (struct timespec[2]){{1, 2}, {3, 4}}, 0);
        cr_assert(!has(temporary_folder, "a"), "%d", how);
        int before = temporary_entries();
        keep(temporary_folder, "a");
        cr_assert(has(temporary_folder, "a") && temporary_entries() == before, "it takes the same place");
    }
}

Test(index_file, each_form_of_naming_shards_has_its_own_index)
{
    char pair[PATH_MAX], one[PATH_MAX], both[PATH_MAX];
    snprintf(pair, sizeof pair, "%s/s{1..2}", temporary_folder);
    snprintf(one, sizeof one, "%s/s1", temporary_folder);
    snprintf(both, sizeof both, "%s/{x,y}/s1", temporary_folder);
    temporary_text("s1", "one");
    temporary_text("s2", "two");
    temporary_text("x/s1", "one");
    temporary_text("y/s1", "one");
    const char *const paths[] = {pair, one, temporary_folder, both};
    for (int i = 0; i < 4; i++) keep(paths[i], "a");
    for (int i = 0; i < 4; i++) cr_assert(has(paths[i], "a"), "%s", paths[i]);
}

/* The place of the only index, or of what becomes it. */
static const char *index_name(const char *ending)
{
    static char name[64];
    struct rue_index index = make_index(temporary_folder, 1);
    rue_index_file_save(&index, temporary_folder, "a");
    close_index(&index);
    DIR *folder = opendir(temporary_folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, ".rue-index-", 11) == 0)
            snprintf(name, sizeof name, "%s%s", entry->d_name, ending);
    closedir(folder);
    return name;
}

Test(index_file, a_leftover_of_a_killed_process_is_overwritten_but_not_a_foreign_file)
{
    size_t bytes;
    temporary_text("s1", "one");
    const char *part = index_name(".part");
    temporary_text(part, "rueindx1 and what is not whole");
    unlink(temporary_path("s1"));
    temporary_text("s1", "other");
    cr_assert_not(has(temporary_folder, "a"));
    keep(temporary_folder, "a");
    cr_assert(has(temporary_folder, "a") && access(temporary_path(part), F_OK) != 0);
    temporary_text(part, "somebody else's");
    temporary_text("s1", "changed again");
    keep(temporary_folder, "a");
    cr_assert_not(has(temporary_folder, "a"));
    char *kept = (char *)temporary_read(part, &bytes);
    cr_assert(bytes == 15 && memcmp(kept, "somebody else's", bytes) == 0);
    free(kept);
}
