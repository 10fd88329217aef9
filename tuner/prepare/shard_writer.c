#include "shard_writer.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "item_file.h"
#include "part.h"
#include "shards.h"
#include "sink.h"

rue_status rue_shard_writer_open(struct rue_shard_writer *w, const char *path, const char *extension,
                                 const struct rue_sink_options *options, rue_error *error)
{
    *w = (struct rue_shard_writer){.options = options, .extension = extension};
    snprintf(w->folder, sizeof w->folder, "%s", path);
    return mkdir(path, 0777) == 0 ? RUE_OK : rue_item_file_fail(rue_sink_path(options, path), "", error);
}

static rue_status begin_file(struct rue_shard_writer *w, const char *name, rue_error *error)
{
    char path[sizeof w->path];
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    snprintf(w->path, sizeof w->path, "%s/%s", rue_sink_path(w->options, w->folder), name);
    w->shard = fopen(path, "wxe");
    w->bytes = 0;
    return w->shard ? RUE_OK : rue_item_file_fail(w->path, "", error);
}

rue_status rue_shard_writer_begin(struct rue_shard_writer *w, rue_error *error)
{
    char name[PATH_MAX];
    if (w->shard) return RUE_OK;
    snprintf(name, sizeof name, "%s-%06" PRIu64 "%s", w->options->split, w->shards++, w->extension);
    return begin_file(w, name, error);
}

rue_status rue_shard_writer_write(struct rue_shard_writer *w, const void *data, uint64_t bytes,
                                  rue_error *error)
{
    w->bytes += bytes;
    return fwrite(data, 1, bytes, w->shard) == bytes ? RUE_OK : rue_item_file_fail(w->path, "", error);
}

/* Flushes the file to the disk and closes it. */
static rue_status end_file(struct rue_shard_writer *w, rue_error *error)
{
    rue_status status = fflush(w->shard) == 0 ? rue_write_flush(fileno(w->shard), w->path, error)
                                              : rue_item_file_fail(w->path, "", error);
    rue_shard_writer_close(w);
    return status;
}

static rue_status end_shard(struct rue_shard_writer *w, rue_error *error)
{
    rue_status status = w->complete ? w->complete(w, error) : RUE_OK;
    return status == RUE_OK ? end_file(w, error) : status;
}

rue_status rue_shard_writer_count(struct rue_shard_writer *w, rue_error *error)
{
    w->added++;
    return w->bytes >= w->options->shard_bytes ? end_shard(w, error) : RUE_OK;
}

static rue_status write_line(struct rue_shard_writer *w, const char *text, rue_error *error)
{
    rue_status status = rue_shard_writer_write(w, text, strlen(text), error);
    return status == RUE_OK ? rue_shard_writer_write(w, "\n", 1, error) : status;
}

static rue_status write_classes(struct rue_shard_writer *w, rue_error *error)
{
    if (w->options->class_count == 0) return RUE_OK;
    rue_status status = begin_file(w, RUE_CLASS_LIST_FILE, error);
    for (size_t i = 0; status == RUE_OK && i < w->options->class_count; i++) {
        const char *name = w->options->classes[i];
        if (strchr(name, '\n'))
            return rue_fail(error, RUE_DATA, "the class name '%.100s' has more than one line: rename it",
                            name);
        status = write_line(w, name, error);
    }
    return status == RUE_OK ? end_file(w, error) : status;
}

static rue_status write_made_with(struct rue_shard_writer *w, rue_error *error)
{
    if (!w->options->made_with) return RUE_OK;
    rue_status status = begin_file(w, RUE_MADE_WITH_FILE, error);
    if (status == RUE_OK) status = write_line(w, w->options->made_with, error);
    return status == RUE_OK ? end_file(w, error) : status;
}

rue_status rue_shard_writer_finish(void *state, rue_error *error)
{
    struct rue_shard_writer *w = state;
    rue_status status = w->shard ? end_shard(w, error) : RUE_OK;
    if (status == RUE_OK) status = write_classes(w, error);
    if (status == RUE_OK) status = write_made_with(w, error);
    if (status == RUE_OK) rue_write_flush_folder(w->folder);
    return status;
}

void rue_shard_writer_close(void *state)
{
    struct rue_shard_writer *w = state;
    if (w->shard) fclose(w->shard);
    w->shard = NULL;
}
