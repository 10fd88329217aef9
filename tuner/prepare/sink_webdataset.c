/* The webdataset format: a folder of tar shards by libarchive. They are ustar, with pax headers only where a
 * name or size needs one. Without times and users, the same members make the same bytes. */
#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>

#include "files.h"
#include "item_file.h"
#include "shard_writer.h"

#include "sink.h"

enum { NUMBER_BYTES = 24, STEM_BYTES = PATH_MAX - 16 /* leaves room for an extension */ };

struct webdataset {
    struct rue_shard_writer shards;
    struct archive *archive; /* of the open shard; NULL: none */
    rue_error failure;       /* of a write to the shard */
    char before[STEM_BYTES]; /* the key of the last item in this shard */
};

/* Errors are kept in `failure`: libarchive leaks memory if this callback fails. */
static la_ssize_t write_piece(struct archive *archive, void *context, const void *data, size_t bytes)
{
    struct webdataset *w = context;
    (void)archive;
    if (w->failure.status == RUE_OK)
        w->failure.status = rue_shard_writer_write(&w->shards, data, bytes, &w->failure);
    return (la_ssize_t)bytes;
}

/* libarchive only warns of names outside the locale's character set, and writes them unchanged. */
static rue_status check_archive(const struct webdataset *w, bool good, rue_error *error)
{
    if (w->failure.status != RUE_OK) return rue_fail(error, w->failure.status, "%s", w->failure.message);
    if (good) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write %s: %s", w->shards.path,
                    archive_error_string(w->archive));
}

static rue_status begin_archive(struct webdataset *w, rue_error *error)
{
    if (w->archive) return RUE_OK;
    rue_status status = rue_shard_writer_begin(&w->shards, error);
    if (status != RUE_OK) return status;
    w->archive = archive_write_new();
    if (!w->archive) return rue_fail_memory(error, "writing an archive", sizeof *w);
    bool good = archive_write_set_format_pax_restricted(w->archive) == ARCHIVE_OK &&
                archive_write_set_bytes_in_last_block(w->archive, 1) == ARCHIVE_OK &&
                archive_write_open2(w->archive, w, NULL, write_piece, NULL, NULL) == ARCHIVE_OK;
    return check_archive(w, good, error);
}

/* Adds a file with the bytes of `head`, then `data`. */
static rue_status put_member(struct webdataset *w, const char *name, struct iovec head, struct iovec data,
                             rue_error *error)
{
    struct archive_entry *entry = archive_entry_new();
    if (!entry) return rue_fail_memory(error, "writing an archive", data.iov_len);
    archive_entry_copy_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (int64_t)(head.iov_len + data.iov_len));
    bool good = archive_write_header(w->archive, entry) >= ARCHIVE_WARN &&
                archive_write_data(w->archive, head.iov_base, head.iov_len) >= 0 &&
                archive_write_data(w->archive, data.iov_base, data.iov_len) >= 0;
    archive_entry_free(entry);
    return check_archive(w, good, error);
}

/* Ends the archive while its shard is open. */
static rue_status complete_archive(struct rue_shard_writer *writer, rue_error *error)
{
    struct webdataset *w = (struct webdataset *)writer;
    rue_status status = check_archive(w, archive_write_close(w->archive) == ARCHIVE_OK, error);
    archive_write_free(w->archive);
    w->archive = NULL;
    w->before[0] = 0;
    return status;
}

static rue_status open_webdataset(void *state, const char *path, const struct rue_sink_options *options,
                                  rue_error *error)
{
    struct webdataset *w = state;
    rue_status status = rue_shard_writer_open(&w->shards, path, ".tar", options, error);
    w->shards.complete = complete_archive;
    return status;
}

static void close_webdataset(void *state)
{
    struct webdataset *w = state;
    archive_write_free(w->archive);
    rue_shard_writer_close(&w->shards);
}

/* A key ends at its first dot: dots become "%2E" and "%" becomes "%25", so that keys stay unique. Returns the
 * end of the key; NULL: too long. */
static char *escape_key(char *at, const char *end, const char *from, size_t bytes)
{
    for (const char *last = from + bytes; from < last; from++) {
        if (end - at < 4) return NULL;
        if (*from == '.' || *from == '%')
            at += sprintf(at, "%%%02X", (unsigned char)*from);
        else
            *at++ = *from;
    }
    *at = 0;
    return at;
}

/* Adjacent members with one key are one sample, so a key differs from the key before it. Images keep their
 * extension. */
static rue_status make_key(struct webdataset *w, const char *name, char stem[STEM_BYTES], char extension[8],
                           rue_error *error)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    bool raw = w->shards.options->mode == RUE_RAW;
    bool image = dot && rue_files_image_kind(base), usual = image && strcasecmp(dot, ".jpe") != 0;
    bool known = image || (dot && !strcasecmp(dot, ".npy"));
    if (!known || dot == base) dot = NULL;
    snprintf(extension, 8, "%s", !raw ? "npy" : dot && usual ? dot + 1 : "jpg");
    memcpy(stem, name, (size_t)(base - name));
    char *end = escape_key(stem + (base - name), stem + STEM_BYTES - NUMBER_BYTES, base,
                           dot ? (size_t)(dot - base) : strlen(base));
    if (!end)
        return rue_fail(error, RUE_DATA, "the name '%.200s...' is too long for a sample: rename the item",
                        name);
    if (strcmp(stem, w->before) == 0) snprintf(end, NUMBER_BYTES, "_%" PRIu64, w->shards.added);
    snprintf(w->before, sizeof w->before, "%s", stem);
    return RUE_OK;
}

static rue_status add_to_webdataset(void *state, const struct rue_item *item, rue_error *error)
{
    struct webdataset *w = state;
    const struct rue_sink_options *options = w->shards.options;
    char stem[STEM_BYTES], extension[8], name[PATH_MAX], label[16], head[RUE_ITEM_FILE_NPY_BYTES];
    bool tensor = options->mode == RUE_PREPROCESSED;
    rue_status status = begin_archive(w, error);
    if (status == RUE_OK) status = make_key(w, item->key, stem, extension, error);
    if (status != RUE_OK) return status;
    if (tensor) rue_item_file_npy_header(options, head);
    snprintf(name, sizeof name, "%s.%s", stem, extension);
    status = put_member(w, name, (struct iovec){head, tensor ? sizeof head : 0},
                        (struct iovec){(void *)item->data, item->bytes}, error);
    snprintf(name, sizeof name, "%s.cls", stem);
    int digits = snprintf(label, sizeof label, "%" PRId32, item->label);
    if (status == RUE_OK && !options->unlabelled)
        status = put_member(w, name, (struct iovec){label, (size_t)digits}, (struct iovec){0}, error);
    return status == RUE_OK ? rue_shard_writer_count(&w->shards, error) : status;
}

const struct rue_sink_ops rue_sink_webdataset = {
    .format = "webdataset",
    .help = "a folder of tar shards, as the webdataset library has them",
    .has_mode = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .shards = true,
    .state_bytes = sizeof(struct webdataset),
    .open = open_webdataset,
    .add = add_to_webdataset,
    .finish = rue_shard_writer_finish,
    .close = close_webdataset,
};
