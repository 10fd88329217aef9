/* The folder format: JPEG files below a folder, as torchvision's ImageFolder sees them. The class of a file
 * is the first folder on its way; files that lie in the folder itself have class 0 of a set without classes,
 * or, beside class folders, are left out as ImageFolder leaves them out. Order: by path, bytewise. Hidden
 * files (".x") are left out; symbolic links are followed, but for those to folders that were read. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "hash.h"
#include "image_name.h"
#include "source.h"
#include "walk.h"
#include "whole_file.h"

struct file {
    uint32_t name; /* offset in `names`, of the path below the folder */
    int32_t label;
    uint64_t bytes;
};

struct folder {
    char path[PATH_MAX];
    int fd; /* of the folder: files are opened relative to it */
    struct file *files;
    size_t count, capacity;
    char *names; /* NUL-terminated paths, one after the other */
    size_t names_used, names_capacity;
    const char **classes; /* [class_count], owned strings */
    size_t class_count, class_capacity;
    uint64_t others; /* files that are no JPEG by name */
    uint64_t odd;    /* neither file nor folder, or a folder once more */
    char odd_example[RUE_ERROR_MESSAGE_BYTES / 2];
    const struct rue_source_options *options; /* while it is opened */
};

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0) return rue_fail_open(error, path);
    *is = S_ISDIR(about.st_mode);
    return RUE_OK;
}

static rue_status add_file(struct folder *folder, const char *name, uint64_t bytes, rue_error *error)
{
    static const char what[] = "the index of the folder";
    size_t length = strlen(name) + 1;
    rue_status status = rue_array_grow(&folder->files, &folder->capacity, folder->count + 1,
                                       sizeof *folder->files, what, error);
    if (status == RUE_OK)
        status = rue_array_grow(&folder->names, &folder->names_capacity, folder->names_used + length, 1, what,
                                error);
    if (status != RUE_OK) return status;
    if (folder->names_used + length > UINT32_MAX)
        return rue_fail(error, RUE_DATA, "%s holds more than 4 GiB of file names", folder->path);
    memcpy(folder->names + folder->names_used, name, length);
    folder->files[folder->count++] =
        (struct file){.name = (uint32_t)folder->names_used, .label = 0, .bytes = bytes};
    folder->names_used += length;
    return RUE_OK;
}

static void note_odd(struct folder *folder, const struct rue_walk_entry *entry)
{
    static const char *const words[] = {[RUE_WALK_AGAIN] = "a link to a folder that was read already",
                                        [RUE_WALK_DANGLING] = "a link that leads nowhere",
                                        [RUE_WALK_OTHER] = "neither a file nor a folder"};
    char text[2 * PATH_MAX + 64];
    if (folder->odd++) return;
    snprintf(text, sizeof text, "%s/%s, %s", folder->path, entry->path, words[entry->kind]);
    for (char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at)) *at = '?';
    rue_error_shorten(text, folder->odd_example, sizeof folder->odd_example);
}

static rue_status visit(void *context, const struct rue_walk_entry *entry, rue_error *error)
{
    struct folder *folder = context;
    rue_status status = rue_source_check_stop(folder->options, error);
    if (status != RUE_OK || entry->kind == RUE_WALK_FOLDER) return status;
    if (entry->kind != RUE_WALK_FILE)
        note_odd(folder, entry);
    else if (rue_image_has_name(entry->name))
        return add_file(folder, entry->path, entry->bytes, error);
    else
        folder->others++;
    return RUE_OK;
}

/* Bytewise, but a folder's end sorts before all other bytes: classes come in the order of their own names
 * ("a" before "a-b"), as ImageFolder has them, and each is one run of files. */
static int by_name(const void *a, const void *b, void *names)
{
    const unsigned char *x = (unsigned char *)names + ((const struct file *)a)->name;
    const unsigned char *y = (unsigned char *)names + ((const struct file *)b)->name;
    while (*x && *x == *y) x++, y++;
    return (*x == '/' ? 1 : *x + 1) * (*x != 0) - (*y == '/' ? 1 : *y + 1) * (*y != 0);
}

static size_t class_length(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

/* Gives each file the index of its first folder and leaves out what lies beside the class folders. */
static rue_status label_files(struct folder *folder, rue_error *error)
{
    size_t kept = 0;
    bool nested = false;
    for (size_t i = 0; i < folder->count; i++)
        nested |= class_length(folder->names + folder->files[i].name) > 0;
    if (!nested) return RUE_OK;
    for (size_t i = 0; i < folder->count; i++) {
        struct file file = folder->files[i];
        const char *name = folder->names + file.name;
        size_t length = class_length(name);
        if (!length) continue;
        const char *last = folder->class_count ? folder->classes[folder->class_count - 1] : NULL;
        if (!last || strlen(last) != length || strncmp(last, name, length) != 0) {
            rue_status status =
                rue_array_grow(&folder->classes, &folder->class_capacity, folder->class_count + 1,
                               sizeof *folder->classes, "class names", error);
            char *copy = status == RUE_OK ? strndup(name, length) : NULL;
            if (!copy) return rue_fail_memory(error, "class names", length);
            folder->classes[folder->class_count++] = copy;
        }
        file.label = (int32_t)folder->class_count - 1;
        folder->files[kept++] = file;
    }
    folder->count = kept;
    return RUE_OK;
}

static void close_folder(void *state)
{
    struct folder *folder = state;
    for (size_t i = 0; i < folder->class_count; i++) free((char *)folder->classes[i]);
    free(folder->classes);
    free(folder->files);
    free(folder->names);
    if (folder->fd >= 0) close(folder->fd);
    free(folder);
}

static rue_status fail_without_files(const struct folder *folder, rue_error *error)
{
    unsigned long long all = folder->others + folder->odd;
    if (!all) return rue_fail(error, RUE_DATA, "%s is empty: give a folder of JPEG files", folder->path);
    return rue_fail(error, RUE_DATA,
                    "%s holds no JPEG file (.jpg, .jpeg, .jpe) among %llu%s%s: give a folder of JPEG files",
                    folder->path, all, folder->odd ? "; one of them is " : "", folder->odd_example);
}

static rue_status open_folder(const char *path, const struct rue_source_options *options, void **state,
                              rue_error *error)
{
    struct folder *folder = calloc(1, sizeof *folder);
    if (!folder) return rue_fail_memory(error, "a folder source", sizeof *folder);
    folder->options = options;
    snprintf(folder->path, sizeof folder->path, "%s", path);
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rue_status status = RUE_OK;
    if (folder->fd < 0)
        status = rue_fail(error, rue_source_failure(errno), "cannot read folder %s: %s%s", path,
                          strerror(errno), rue_advice(errno));
    if (status == RUE_OK) status = rue_walk(folder->path, folder->fd, visit, folder, error);
    if (status == RUE_OK && folder->count == 0) status = fail_without_files(folder, error);
    if (status == RUE_OK) {
        qsort_r(folder->files, folder->count, sizeof *folder->files, by_name, folder->names);
        status = label_files(folder, error);
    }
    if (status != RUE_OK) return close_folder(folder), status;
    *state = folder;
    return RUE_OK;
}

static uint64_t count(const void *state)
{
    return ((const struct folder *)state)->count;
}

static uint64_t item_bytes(const void *state, uint64_t item)
{
    return ((const struct folder *)state)->files[item].bytes;
}

static rue_status label(const void *state, uint64_t item, int32_t *out, rue_error *error)
{
    (void)error;
    *out = ((const struct folder *)state)->files[item].label;
    return RUE_OK;
}

static const char *item_name(const struct folder *folder, uint64_t item)
{
    return folder->names + folder->files[item].name;
}

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    const struct folder *folder = state;
    snprintf(out, bytes, "%s/%s", folder->path, item_name(folder, item));
}

static void key(const void *state, uint64_t item, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s", item_name(state, item));
}

static void locate(const void *state, uint64_t item, struct rue_location *out)
{
    name(state, item, out->path, sizeof out->path);
    out->offset = 0;
    out->bytes = item_bytes(state, item);
}

static rue_status read_file(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct folder *folder = state;
    return rue_whole_file_read(folder->fd, folder->path, item_name(folder, item), folder->files[item].bytes,
                               into, error);
}

static size_t class_count(const void *state)
{
    return ((const struct folder *)state)->class_count;
}

static const char *class_name(const void *state, size_t class_index)
{
    return ((const struct folder *)state)->classes[class_index];
}

static uint64_t skipped(const void *state, char *example, size_t bytes)
{
    const struct folder *folder = state;
    snprintf(example, bytes, "%s", folder->odd_example);
    return folder->odd;
}

/* Over names and sizes: reading every byte of a large set would cost more than tuning for it. */
static uint64_t digest(const void *state)
{
    const struct folder *folder = state;
    uint64_t hash = RUE_HASH_START;
    for (size_t i = 0; i < folder->count; i++) {
        const char *file = item_name(folder, i);
        hash = rue_hash(hash, file, strlen(file) + 1);
        hash = rue_hash(hash, &folder->files[i].bytes, sizeof folder->files[i].bytes);
    }
    return hash;
}

const struct rue_source_ops rue_source_folder = {
    .format = "folder",
    .holds = {[RUE_RAW] = true},
    .help = "a folder of JPEG files, one folder a class, nested or flat",
    .probe = probe,
    .open = open_folder,
    .close = close_folder,
    .count = count,
    .bytes = item_bytes,
    .label = label,
    .name = name,
    .key = key,
    .read = read_file,
    .locate = locate,
    .class_count = class_count,
    .class_name = class_name,
    .skipped = skipped,
    .digest = digest,
};
