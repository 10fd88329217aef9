/* The webdataset format: tar shards whose members form samples as in the webdataset library. Consecutive
 * members with the same key belong to one sample. The key is the path up to the first dot of its last part;
 * the extension is the rest, in lower case. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "archive_reader.h"
#include "npy.h"
#include "shards.h"

enum { LABEL_BYTES_MAX = 64 };

struct sample {
    bool open, labelled;
    char key[PATH_MAX];
    uint64_t header;      /* header of its first member */
    char image[PATH_MAX]; /* name of the member with the image; "": none */
    struct rue_entry entry;
};

/* The state while samples are indexed. */
struct group {
    struct rue_index *index;
    const struct rue_source_options *options;
    const char *image_key, *label_key; /* extensions; image_key NULL: the default ones */
    bool chosen;                       /* the mode is set, by the first image */
    bool labelled;                     /* at least one sample has a label */
    char unlabelled[PATH_MAX + 64];    /* the first sample without a label; "" */
};

struct shard {
    struct group *group;
    uint32_t number;
    const char *file;
    struct rue_archive_reader *reader;
    struct sample sample;
};

static rue_status fail_sample_member(const struct shard *shard, uint64_t at, const char *name,
                                     const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: the member %s at byte %" PRIu64 " %s", shard->file, name, at, why);
}

static rue_status fail_second_member(const struct shard *shard, const struct rue_archive_member *member,
                                     rue_error *error)
{
    return fail_sample_member(shard, member->header, member->name,
                              "has the same extension as another member of the sample: rename it", error);
}

static rue_status read_member(const struct shard *shard, const struct rue_archive_member *member, void *into,
                              uint64_t bytes, rue_error *error)
{
    uint64_t read_bytes = 0;
    rue_status status = rue_archive_reader_read(shard->reader, into, bytes, &read_bytes, error);
    if (status != RUE_OK || read_bytes == bytes) return status;
    return fail_sample_member(shard, member->header, member->name, "is truncated: make the archive again",
                              error);
}

/* ---- images ---- */

static int group_mode(const struct group *group, const char *extension)
{
    const char *key = group->image_key, *last = strrchr(extension, '.');
    if (key && strcmp(key, extension) != 0) return -1;
    if (strcmp(last ? last + 1 : extension, "npy") == 0 && (key || !last)) return RUE_PREPROCESSED;
    return key || strcmp(extension, "jpg") == 0 || strcmp(extension, "jpeg") == 0 ? RUE_RAW : -1;
}

static rue_status add_npy_image(struct shard *shard, const struct rue_archive_member *member,
                                rue_error *error)
{
    char head[RUE_NPY_HEADER_MAX];
    uint64_t bytes = member->bytes < sizeof head ? member->bytes : sizeof head;
    rue_error why = {0};
    rue_status status = read_member(shard, member, head, bytes, error);
    if (status != RUE_OK) return status;
    status = rue_npy_add_item(shard->group->index, &shard->sample.entry, head, bytes, &why);
    if (status == RUE_OK) return RUE_OK;
    return fail_sample_member(shard, member->header, member->name, why.message, error);
}

/* Skips images that do not have the mode of the first image. */
static rue_status add_image(struct shard *shard, const struct rue_archive_member *member, int mode,
                            rue_error *error)
{
    struct group *group = shard->group;
    struct sample *sample = &shard->sample;
    if (!group->chosen) group->index->mode = (enum rue_mode)mode;
    if (group->index->mode != (enum rue_mode)mode) return RUE_OK;
    if (sample->image[0])
        return strcasecmp(sample->image, member->name) == 0 ? fail_second_member(shard, member, error)
                                                            : RUE_OK;
    memcpy(sample->image, member->name, sizeof sample->image);
    sample->entry.file = shard->number;
    sample->entry.offset = member->offset;
    sample->entry.bytes = member->bytes;
    rue_status status = mode == RUE_PREPROCESSED ? add_npy_image(shard, member, error) : RUE_OK;
    group->chosen = true;
    return status;
}

/* ---- labels ---- */

static bool read_number(char *text, int64_t *out)
{
    char *end;
    while (isspace((unsigned char)*text)) text++;
    if (!isdigit((unsigned char)*text) && *text != '-') return false;
    *out = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    return !*end;
}

static rue_status add_label(struct shard *shard, const struct rue_archive_member *member, rue_error *error)
{
    char text[LABEL_BYTES_MAX + 1] = "";
    int64_t label;
    if (shard->sample.labelled) return fail_second_member(shard, member, error);
    if (member->bytes > LABEL_BYTES_MAX)
        return fail_sample_member(shard, member->header, member->name,
                                  "is too long for a label: write a whole number of at least 0", error);
    rue_status status = read_member(shard, member, text, member->bytes, error);
    if (status != RUE_OK) return status;
    if (!read_number(text, &label) || label < 0 || label > INT32_MAX)
        return fail_sample_member(shard, member->header, member->name,
                                  "is not a label: write a whole number of at least 0", error);
    shard->sample.labelled = true;
    shard->sample.entry.label = (int32_t)label;
    return RUE_OK;
}

/* ---- samples ---- */

static rue_status end_sample(struct shard *shard, rue_error *error)
{
    struct group *group = shard->group;
    struct sample *sample = &shard->sample;
    if (!sample->open) return RUE_OK;
    sample->open = false;
    if (!sample->image[0]) {
        rue_index_skip(group->index, "%s, the sample %s at byte %" PRIu64 " without an image", shard->file,
                       sample->key, sample->header);
        return RUE_OK;
    }
    group->labelled |= sample->labelled;
    if (!sample->labelled && !group->unlabelled[0])
        snprintf(group->unlabelled, sizeof group->unlabelled, "%s: the sample at byte %" PRIu64, shard->file,
                 sample->header);
    return rue_index_add(group->index, &sample->entry, sample->image, error);
}

/* The end of the key of a member's name, or NULL if it has no key. */
static const char *key_end(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strchr(base, '.');
    return dot && dot > base ? dot : NULL;
}

static rue_status begin_sample(struct shard *shard, const struct rue_archive_member *member,
                               size_t key_length, rue_error *error)
{
    struct sample *sample = &shard->sample;
    if (sample->open && strlen(sample->key) == key_length &&
        memcmp(sample->key, member->name, key_length) == 0)
        return RUE_OK;
    rue_status status = end_sample(shard, error);
    sample->open = true;
    sample->header = member->header;
    sample->labelled = false;
    sample->image[0] = 0;
    sample->entry = (struct rue_entry){0};
    snprintf(sample->key, sizeof sample->key, "%.*s", (int)key_length, member->name);
    return status;
}

static rue_status add_member(struct shard *shard, const struct rue_archive_member *member, rue_error *error)
{
    char extension[PATH_MAX];
    const char *end = key_end(member->name);
    if (!member->regular && !member->folder)
        rue_index_skip(shard->group->index, "%s, the member %s at byte %" PRIu64 ", a link or device",
                       shard->file, member->name, member->header);
    if (!member->regular || !end) return RUE_OK;
    rue_status status = begin_sample(shard, member, (size_t)(end - member->name), error);
    snprintf(extension, sizeof extension, "%s", end + 1);
    for (char *at = extension; *at; at++) *at = (char)tolower((unsigned char)*at);
    if (status != RUE_OK) return status;
    int mode = group_mode(shard->group, extension);
    bool is_label = strcmp(extension, shard->group->label_key) == 0;
    if (mode >= 0) return add_image(shard, member, mode, error);
    return is_label ? add_label(shard, member, error) : RUE_OK;
}

/* ---- shards ---- */

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end_length = strlen(suffix);
    return length > end_length && strcasecmp(name + length - end_length, suffix) == 0;
}

static bool is_shard(const char *name)
{
    static const char *const suffixes[] = {".tar",    ".tar.gz",  ".tgz",    ".tar.bz2",
                                           ".tar.xz", ".tar.zst", ".tar.lz4"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_with(name, suffixes[i])) return true;
    return false;
}

/* Files of the folder format. */
static bool is_excluded(const char *name)
{
    return ends_with(name, ".jpg") || ends_with(name, ".jpeg");
}

static rue_status index_members(struct shard *shard, rue_error *error)
{
    const struct rue_archive_member *member;
    rue_status status = RUE_OK;
    for (bool found = true; status == RUE_OK && found;) {
        status = rue_source_check_stop(shard->group->options, error);
        if (status == RUE_OK) status = rue_archive_reader_next(shard->reader, &member, &found, error);
        if (status == RUE_OK && found) status = add_member(shard, member, error);
    }
    return status == RUE_OK ? end_sample(shard, error) : status;
}

static rue_status index_shard(struct group *group, struct shard *shard, uint32_t number, rue_error *error)
{
    struct rue_files *files = group->index->files;
    *shard = (struct shard){.group = group, .number = number, .file = rue_files_path(files, number)};
    rue_status status = rue_archive_reader_open(files, number, RUE_ARCHIVE_TAR, &shard->reader, error);
    if (status != RUE_OK) return status;
    group->index->compressed |= rue_archive_reader_is_compressed(shard->reader);
    status = index_members(shard, error);
    rue_archive_reader_close(shard->reader);
    return status;
}

static rue_status check_labels(const struct group *group, rue_error *error)
{
    if (!group->labelled && group->options->label_key)
        return rue_fail(
            error, RUE_DATA,
            "%s has no label '%s', and no other sample has it: name another extension with label_key",
            group->unlabelled, group->label_key);
    if (!group->labelled || !group->unlabelled[0]) return RUE_OK;
    return rue_fail(
        error, RUE_DATA,
        "%s has no label, but other samples have one: add it, or name its extension with label_key",
        group->unlabelled);
}

static const char *without_dot(const char *key)
{
    return key && key[0] == '.' ? key + 1 : key;
}

static rue_status build_index(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct group group = {.index = index,
                          .options = options,
                          .image_key = without_dot(options->image_key),
                          .label_key = options->label_key ? without_dot(options->label_key) : "cls"};
    size_t count = rue_files_count(index->files);
    struct shard *shard = malloc(sizeof *shard);
    if (!shard) return rue_fail_memory(error, "reading samples", sizeof *shard);
    rue_status status = RUE_OK;
    index->kind = RUE_ITEM_MEMBER;
    for (uint32_t i = 0; status == RUE_OK && i < count; i++) status = index_shard(&group, shard, i, error);
    free(shard);
    if (status == RUE_OK) status = check_labels(&group, error);
    if (status == RUE_OK && index->count == 0)
        status = rue_fail(error, RUE_DATA,
                          "%s holds no sample with an image (%s) in its %zu shards: name the extension of "
                          "images with image_key",
                          path, group.image_key ? group.image_key : ".jpg, .jpeg, .npy", count);
    return status;
}

static const struct rue_shard_format format = {
    .version = "webdataset 7", .is_shard = is_shard, .excludes = is_excluded, .index = build_index};

static rue_status probe_webdataset(const char *path, bool *matches, rue_error *error)
{
    bool regular;
    return rue_shards_probe(&format, path, matches, &regular, error);
}

static rue_status open_webdataset(const char *path, const struct rue_source_options *options,
                                  struct rue_index *index, rue_error *error)
{
    return rue_shards_open(&format, path, options, index, error);
}

const struct rue_source_ops rue_source_webdataset = {
    RUE_SHARD_OPS,
    .format = "webdataset",
    .help = "tar shards of JPEG or npy members, plain or compressed",
    .probe = probe_webdataset,
    .open = open_webdataset,
};
