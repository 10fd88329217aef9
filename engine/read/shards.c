#include "shards.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "index_file.h"
#include "item_stream.h"
#include "shard_pattern.h"

enum { CLASS_TEXT_MAX = 64 << 20 };

/* ---- files ---- */

static rue_status add_shard(void *context, const char *path, rue_error *error)
{
    return rue_files_add(context, path, error);
}

/* Whoever names a folder of training and validation data means one of them. */
static rue_status refuse_splits(const struct rue_files *files, const char *folder, rue_error *error)
{
    const char *first = NULL, *other = NULL;
    size_t begin = 0, end = 0, count = 0;
    char pattern[2 * PATH_MAX];
    for (size_t i = 0; i < rue_files_count(files); i++) {
        const char *split = rue_shard_split(rue_files_path(files, i));
        if (!split) continue;
        if (!first) begin = i, first = split;
        if (split == first) end = i, count++;
        if (split != first && !other) other = split;
    }
    if (!other) return RUE_OK;
    rue_shard_split_pattern(rue_files_path(files, begin), rue_files_path(files, end), count, pattern);
    return rue_fail(error, RUE_DATA,
                    "%s holds shards of %s and of %s, by their names: name those of one split, such as '%s'",
                    folder, first, other, pattern);
}

static rue_status add_folder(struct rue_files **files, const char *path, bool (*takes)(const char *name),
                             rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder) return rue_fail_open(error, path);
    rue_status status = RUE_OK;
    size_t length = strlen(path), others = 0;
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    char name[PATH_MAX];
    for (struct dirent *entry; status == RUE_OK && (entry = readdir(folder));) {
        bool hidden = entry->d_name[0] == '.';
        others += !hidden;
        if (hidden || !takes(entry->d_name)) continue;
        if ((size_t)snprintf(name, sizeof name, "%s%s%s", path, slash, entry->d_name) >= sizeof name)
            status = rue_fail(error, RUE_DATA, "the path %s/%s is too long", path, entry->d_name);
        else
            status = rue_files_add(files, name, error);
    }
    closedir(folder);
    if (status == RUE_OK && rue_files_count(*files) == 0)
        return rue_fail(error, RUE_DATA,
                        "%s holds no shard of this format among %zu: give a folder of shards", path, others);
    if (status != RUE_OK) return status;
    rue_files_sort(*files);
    return refuse_splits(*files, path, error);
}

bool rue_shards_is_pattern(const char *path)
{
    struct stat about;
    return strchr(path, '{') && lstat(path, &about) != 0;
}

rue_status rue_shards_add(const char *path, bool (*takes)(const char *name), struct rue_files **files,
                          rue_error *error)
{
    struct stat about;
    if (rue_shards_is_pattern(path)) return rue_shard_pattern_expand(path, add_shard, files, error);
    bool is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    return is_folder ? add_folder(files, path, takes, error) : rue_files_add(files, path, error);
}

/* ---- looking ---- */

static rue_status probe_folder(const struct rue_shard_format *format, const char *path, bool *is,
                               rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s%s", path, strerror(errno),
                        rue_advice(errno));
    bool shards = false, others = false;
    for (struct dirent *entry; !others && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        struct stat about;
        if (name[0] == '.') continue;
        shards |= format->takes(name);
        others = (format->avoids && format->avoids(name)) ||
                 (fstatat(dirfd(folder), name, &about, 0) == 0 && S_ISDIR(about.st_mode));
    }
    closedir(folder);
    *is = shards && !others;
    return RUE_OK;
}

rue_status rue_shards_probe(const struct rue_shard_format *format, const char *path, bool *is, bool *regular,
                            rue_error *error)
{
    struct stat about;
    bool named = format->takes(path), pattern = rue_shards_is_pattern(path);
    *regular = false;
    *is = pattern && named;
    if (pattern) return RUE_OK;
    if (stat(path, &about) != 0) return rue_fail_open(error, path);
    if (S_ISDIR(about.st_mode)) return probe_folder(format, path, is, error);
    *regular = S_ISREG(about.st_mode);
    *is = *regular && named;
    return RUE_OK;
}

/* ---- opening ---- */

/* Class names are lines of a file beside the first shard, where there is one; the first is class 0. An empty
 * line between others is a class without a name. */
static rue_status read_classes(struct rue_index *index, rue_error *error)
{
    const char *shard = rue_files_path(index->files, 0), *slash = strrchr(shard, '/');
    char path[PATH_MAX + sizeof RUE_CLASS_LIST_FILE];
    struct rue_files *files = NULL;
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - shard) : 0, shard, RUE_CLASS_LIST_FILE);
    struct stat about;
    if (stat(path, &about) != 0 && errno == ENOENT) return RUE_OK;
    rue_status status = rue_files_add(&files, path, error);
    if (status != RUE_OK) return status;
    uint64_t bytes = rue_files_identity(files, 0).bytes;
    char *text = bytes <= CLASS_TEXT_MAX ? malloc(bytes + 1) : NULL;
    if (bytes > CLASS_TEXT_MAX)
        status = rue_fail(error, RUE_DATA, "%s is longer than 64 MiB; give one class name a line", path);
    else
        status = text ? rue_files_read(files, 0, text, bytes, 0, error)
                      : rue_fail_memory(error, "class names", bytes);
    rue_files_close(files);
    if (status == RUE_OK && memchr(text, 0, bytes))
        status = rue_fail(error, RUE_DATA, "%s is no text; give one class name a line", path);
    if (status == RUE_OK) text[bytes] = 0;
    for (const char *line = text; status == RUE_OK && *line;) {
        size_t length = strcspn(line, "\n");
        bool returns = length && line[length - 1] == '\r';
        status = rue_index_add_class(index, line, length - returns, error);
        line += length + (line[length] == '\n');
    }
    free(text);
    return status;
}

static const char *or_nothing(const char *key)
{
    return key ? key : "";
}

rue_status rue_shards_open(const struct rue_shard_format *format, const char *path,
                           const struct rue_source_options *options, struct rue_index *index,
                           rue_error *error)
{
    char asked[512];
    snprintf(asked, sizeof asked, "%s image %.200s label %.200s", format->version,
             or_nothing(options->image_key), or_nothing(options->label_key));
    rue_status status = rue_shards_add(path, format->takes, &index->files, error);
    if (status == RUE_OK && !rue_index_file_load(index, path, asked)) {
        status = format->index(path, options, index, error);
        if (status == RUE_OK && !options->writes_nothing) rue_index_file_keep(index, path, asked);
    }
    if (status == RUE_OK) status = read_classes(index, error);
    if (status == RUE_OK && index->streams)
        status = rue_item_stream_open(index, (struct rue_item_stream **)&index->state, error);
    return status;
}

/* ---- operations ---- */

void rue_shards_close(void *state)
{
    rue_item_stream_close(state);
}

rue_status rue_shards_read(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    const struct rue_entry *entry = &index->entries[item];
    if (index->streams) return rue_item_stream_read(index->state, item, into, error);
    return rue_files_read(index->files, entry->file, into, entry->bytes, entry->offset, error);
}

uint64_t rue_shards_window(const struct rue_index *index, uint64_t in_flight)
{
    return rue_item_stream_window(index->state, in_flight);
}

void rue_shards_rewind(const struct rue_index *index)
{
    if (index->state) rue_item_stream_rewind(index->state);
}
