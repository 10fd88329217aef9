#include "shard_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "file_io.h"
#include "part.h"
#include "shards.h"

static rue_status fail_shard(const char *path, rue_error *error)
{
    return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", path, strerror(errno),
                    rue_advice_or(errno, "; write to another folder"));
}

static void shard_path(const struct rue_shard_writer *w, uint64_t shard, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s-%06" PRIu64 "%s%s", w->path, w->options->split, shard, w->extension,
             rue_codecs[w->options->compression].suffix);
}

/* Removes the shards that an earlier sink wrote behind its mark, the last one half. */
static rue_status clear(const struct rue_shard_writer *w, rue_error *error)
{
    char path[PATH_MAX];
    for (uint64_t shard = w->shards;; shard++) {
        shard_path(w, shard, path);
        if (unlink(path) == 0) continue;
        return errno == ENOENT ? RUE_OK : fail_shard(path, error);
    }
}

rue_status rue_shard_writer_open(struct rue_shard_writer *w, const char *path, const char *extension,
                                 const struct rue_sink_options *options, const struct rue_sink_mark *mark,
                                 rue_error *error)
{
    *w = (struct rue_shard_writer){.options = options,
                                   .extension = extension,
                                   .shards = mark->place,
                                   .added = mark->items,
                                   .whole = mark->items};
    snprintf(w->path, sizeof w->path, "%s", path);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return fail_shard(path, error);
    return clear(w, error);
}

void rue_shard_writer_close(void *state)
{
    struct rue_shard_writer *w = state;
    rue_byte_writer_close(w->shard);
    w->shard = NULL;
}

rue_status rue_shard_writer_begin(struct rue_shard_writer *w, rue_error *error)
{
    char path[PATH_MAX];
    if (w->shard) return RUE_OK;
    shard_path(w, w->shards, path);
    return rue_byte_writer_open(path, w->options->compression, &w->shard, error);
}

static rue_status end(struct rue_shard_writer *w, rue_error *error)
{
    rue_status status = w->complete ? w->complete(w, error) : RUE_OK;
    if (status == RUE_OK) status = rue_byte_writer_finish(w->shard, error);
    rue_shard_writer_close(w);
    if (status != RUE_OK) return status;
    rue_write_flush_folder(w->path);
    w->shards++;
    w->whole = w->added;
    return RUE_OK;
}

rue_status rue_shard_writer_count(struct rue_shard_writer *w, rue_error *error)
{
    w->added++;
    return rue_byte_writer_position(w->shard) >= w->options->shard_bytes ? end(w, error) : RUE_OK;
}

rue_status rue_shard_writer_flush(void *state, struct rue_sink_mark *mark, rue_error *error)
{
    (void)error;
    const struct rue_shard_writer *w = state;
    *mark = (struct rue_sink_mark){.items = w->whole, .place = w->shards};
    return RUE_OK;
}

/* The names of the classes, on the disk when this returns; nothing where there are no classes. */
static rue_status write_classes(const char *folder, const char *const *names, size_t count, rue_error *error)
{
    char path[PATH_MAX + sizeof RUE_CLASS_LIST_FILE];
    struct rue_byte_writer *writer;
    if (count == 0) return RUE_OK;
    snprintf(path, sizeof path, "%s/%s", folder, RUE_CLASS_LIST_FILE);
    rue_status status = rue_byte_writer_open(path, RUE_COMPRESS_NONE, &writer, error);
    if (status != RUE_OK) return status;
    for (size_t i = 0; status == RUE_OK && i < count; i++) {
        if (strchr(names[i], '\n'))
            status = rue_fail(error, RUE_DATA, "the class name '%.100s' has more than one line: rename it",
                              names[i]);
        if (status == RUE_OK) status = rue_byte_writer_write(writer, names[i], strlen(names[i]), error);
        if (status == RUE_OK) status = rue_byte_writer_write(writer, "\n", 1, error);
    }
    if (status == RUE_OK) status = rue_byte_writer_finish(writer, error);
    rue_byte_writer_close(writer);
    return status;
}

rue_status rue_shard_writer_finish(void *state, rue_error *error)
{
    struct rue_shard_writer *w = state;
    rue_status status = w->shard ? end(w, error) : RUE_OK;
    if (status != RUE_OK) return status;
    status = write_classes(w->path, w->options->classes, w->options->class_count, error);
    rue_write_flush_folder(w->path);
    return status;
}
