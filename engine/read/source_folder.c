/* The folder format: JPEG files below a folder, as in torchvision's ImageFolder. The class of a file is the
 * first folder of its path. Files directly in the folder have class 0 if there are no class folders, and else
 * are skipped, as in ImageFolder. Items are sorted by the bytes of their paths. Hidden files (".x") are
 * skipped. Symbolic links are followed, except links to a folder above them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "files.h"
#include "source.h"

/* The state while a folder is opened. */
struct folder {
    const char *path;
    struct rue_index *index;
    const struct rue_source_options *options;
};

static rue_status probe_folder(const char *path, bool *matches, rue_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) return rue_fail_open(error, path);
    *matches = S_ISDIR(info.st_mode);
    return RUE_OK;
}

static rue_status fail_folder(const char *path, int why, rue_error *error)
{
    return rue_fail(error, rue_source_failure(why), "cannot read %s: %s%s", path, strerror(why),
                    rue_advice(why));
}

static rue_status add_file(struct folder *folder, const char *path, uint64_t bytes, rue_error *error)
{
    const char *name = path + strlen(folder->path);
    while (*name == '/') name++;
    const struct rue_entry item = {.bytes = bytes};
    if (rue_files_is_jpeg(name)) return rue_index_add(folder->index, &item, name, error);
    rue_index_skip(folder->index, "%s, not a JPEG file", name);
    return RUE_OK;
}

/* A folder above the current one. */
struct level {
    const struct level *above;
    const struct stat *info;
};

static bool is_ancestor(const struct level *level, const struct stat *info)
{
    while (level && (level->info->st_ino != info->st_ino || level->info->st_dev != info->st_dev))
        level = level->above;
    return level;
}

static rue_status walk_folder(struct folder *folder, char path[PATH_MAX], const struct level *level,
                              rue_error *error);

/* Adds `path`, an entry of the innermost level. Skips links that are broken or lead upwards, FIFOs,
 * devices. */
static rue_status add_entry(struct folder *folder, char path[PATH_MAX], const struct level *levels,
                            rue_error *error)
{
    const char *reason = "neither a file nor a folder";
    struct stat info;
    if (fstatat(AT_FDCWD, path, &info, 0) != 0) {
        if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR) return fail_folder(path, errno, error);
        reason = "a broken link";
    } else if (S_ISREG(info.st_mode)) {
        return add_file(folder, path, (uint64_t)info.st_size, error);
    } else if (S_ISDIR(info.st_mode)) {
        if (!is_ancestor(levels, &info))
            return walk_folder(folder, path, &(struct level){levels, &info}, error);
        reason = "a link to a folder above it";
    }
    rue_index_skip(folder->index, "%s, %s", path, reason);
    return RUE_OK;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Adds everything below the folder `path`. Changes `path`, and restores it. */
static rue_status walk_folder(struct folder *folder, char path[PATH_MAX], const struct level *level,
                              rue_error *error)
{
    struct dirent **entries;
    size_t length = strlen(path), name_bytes = PATH_MAX - length;
    int count = scandir(path, &entries, is_shown, NULL);
    if (count < 0) return fail_folder(path, errno, error);
    rue_status status = RUE_OK;
    for (int i = 0; i < count; free(entries[i++])) {
        if (status == RUE_OK) status = rue_source_check_stop(folder->options, error);
        if (status != RUE_OK) continue;
        bool fits = snprintf(path + length, name_bytes, "/%s", entries[i]->d_name) < (int)name_bytes;
        if (fits) status = add_entry(folder, path, level, error);
        path[length] = 0;
        if (!fits) status = fail_folder(path, ENAMETOOLONG, error);
    }
    free(entries);
    return status;
}

/* Compares bytewise, but the end of a folder's name sorts first. So classes are in the order of their names
 * ("a" before "a-b"), as in ImageFolder, and the files of each class follow each other. */
static int compare_item_names(const void *a, const void *b, void *names)
{
    const unsigned char *x = (unsigned char *)names + ((const struct rue_entry *)a)->name;
    const unsigned char *y = (unsigned char *)names + ((const struct rue_entry *)b)->name;
    while (*x && *x == *y) x++, y++;
    return (*x == '/' ? 1 : *x + 1) * (*x != 0) - (*y == '/' ? 1 : *y + 1) * (*y != 0);
}

static rue_status fail_no_jpeg(const struct folder *folder, rue_error *error)
{
    const struct rue_index *index = folder->index;
    if (!index->remarks.skipped)
        return rue_fail(error, RUE_DATA, "%s is empty: give a folder of JPEG files", folder->path);
    return rue_fail(error, RUE_DATA,
                    "%s holds no JPEG file (.jpg, .jpeg, .jpe) among %" PRIu64
                    " files, such as %s: convert the "
                    "images to JPEG, or give another folder",
                    folder->path, index->remarks.skipped, index->remarks.skipped_example);
}

static rue_status open_folder(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct folder folder = {.path = path, .index = index, .options = options};
    struct stat info;
    char place[PATH_MAX];
    index->kind = RUE_ITEM_FILE;
    rue_status status = rue_files_set_folder(&index->files, path, error);
    if (status == RUE_OK && snprintf(place, sizeof place, "%s", path) >= PATH_MAX)
        status = fail_folder(path, ENAMETOOLONG, error);
    if (status == RUE_OK && stat(path, &info) != 0) status = fail_folder(path, errno, error);
    if (status == RUE_OK) status = walk_folder(&folder, place, &(struct level){NULL, &info}, error);
    if (status == RUE_OK && index->count == 0) status = fail_no_jpeg(&folder, error);
    if (status != RUE_OK) return status;
    qsort_r(index->entries, index->count, sizeof *index->entries, compare_item_names, index->names.text);
    return rue_index_label_by_folder(index, error);
}

const struct rue_source_ops rue_source_folder = {
    .format = "folder",
    .has_mode = {[RUE_RAW] = true},
    .help = "a folder of JPEG files, one folder a class, nested or flat",
    .probe = probe_folder,
    .open = open_folder,
};
