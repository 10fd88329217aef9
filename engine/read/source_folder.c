/* The folder format: JPEG files below a folder, as torchvision's ImageFolder sees them. The class of a file
 * is the first folder on its way; files that lie in the folder itself have class 0 of a set without classes,
 * or, beside class folders, are left out as ImageFolder leaves them out. Order: by path, bytewise. Hidden
 * files (".x") are left out; symbolic links are followed, except those to a folder that they lie in. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "files.h"
#include "source.h"

/* While a folder is opened. */
struct folder {
    const char *path;
    struct rue_index *index;
    const struct rue_source_options *options;
    uint64_t others; /* files that are no JPEG by name */
};

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0) return rue_fail_open(error, path);
    *is = S_ISDIR(about.st_mode);
    return RUE_OK;
}

static rue_status fail_folder(const char *path, int why, rue_error *error)
{
    return rue_fail(error, rue_source_failure(why), "cannot read %s: %s%s", path, strerror(why),
                    rue_advice(why));
}

static rue_status add_file(struct folder *folder, const FTSENT *entry, rue_error *error)
{
    const char *name = entry->fts_path + strlen(folder->path);
    while (*name == '/') name++;
    const struct rue_entry item = {.bytes = (uint64_t)entry->fts_statp->st_size};
    if (rue_files_is_jpeg(name)) return rue_index_add(folder->index, &item, name, error);
    folder->others++;
    return RUE_OK;
}

/* Why the entry is left out although it may have been meant to be an image; NULL: it is not. */
static const char *oddity(const FTSENT *entry)
{
    return entry->fts_info == FTS_DC        ? "a link to a folder that it lies in"
           : entry->fts_info == FTS_SLNONE  ? "a link that leads nowhere"
           : entry->fts_info == FTS_DEFAULT ? "neither a file nor a folder"
                                            : NULL;
}

static rue_status add_entry(struct folder *folder, const FTSENT *entry, rue_error *error)
{
    bool failed = entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR;
    if (failed) return fail_folder(entry->fts_path, entry->fts_errno, error);
    if (entry->fts_info == FTS_F) return add_file(folder, entry, error);
    if (oddity(entry)) rue_index_skip(folder->index, "%s, %s", entry->fts_path, oddity(entry));
    return RUE_OK;
}

static rue_status look_through(struct folder *folder, rue_error *error)
{
    char *const roots[] = {(char *)folder->path, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    rue_status status = tree ? RUE_OK : fail_folder(folder->path, errno, error);
    while (status == RUE_OK) {
        errno = 0;
        FTSENT *entry = fts_read(tree);
        if (!entry && errno) status = fail_folder(folder->path, errno, error);
        if (!entry) break;
        status = rue_source_check_stop(folder->options, error);
        if (status != RUE_OK) break;
        if (entry->fts_level > 0 && entry->fts_name[0] == '.')
            fts_set(tree, entry, FTS_SKIP);
        else
            status = add_entry(folder, entry, error);
    }
    if (tree) fts_close(tree);
    return status;
}

/* Bytewise, but a folder's end sorts before all other bytes: classes come in the order of their own names
 * ("a" before "a-b"), as ImageFolder has them, and each is one run of files. */
static int by_name(const void *a, const void *b, void *names)
{
    const unsigned char *x = (unsigned char *)names + ((const struct rue_entry *)a)->name;
    const unsigned char *y = (unsigned char *)names + ((const struct rue_entry *)b)->name;
    while (*x && *x == *y) x++, y++;
    return (*x == '/' ? 1 : *x + 1) * (*x != 0) - (*y == '/' ? 1 : *y + 1) * (*y != 0);
}

static rue_status fail_without_files(const struct folder *folder, rue_error *error)
{
    const struct rue_index *index = folder->index;
    unsigned long long all = folder->others + index->skipped;
    if (!all) return rue_fail(error, RUE_DATA, "%s is empty: give a folder of JPEG files", folder->path);
    return rue_fail(error, RUE_DATA,
                    "%s holds no JPEG file (.jpg, .jpeg, .jpe) among %llu%s%s: give a folder of JPEG files",
                    folder->path, all, index->skipped ? "; one of them is " : "", index->skipped_example);
}

static rue_status open_folder(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct folder folder = {.path = path, .index = index, .options = options};
    index->kind = RUE_ITEM_FILE;
    rue_status status = rue_files_set_folder(&index->files, path, error);
    if (status == RUE_OK) status = look_through(&folder, error);
    if (status == RUE_OK && index->count == 0) status = fail_without_files(&folder, error);
    if (status != RUE_OK) return status;
    qsort_r(index->entries, index->count, sizeof *index->entries, by_name, index->names.text);
    return rue_index_label_by_folder(index, error);
}

const struct rue_source_ops rue_source_folder = {
    .format = "folder",
    .holds = {[RUE_RAW] = true},
    .help = "a folder of JPEG files, one folder a class, nested or flat",
    .probe = probe,
    .open = open_folder,
};
