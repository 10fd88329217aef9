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
#include "note.h"
#include "npy.h"
#include "shards.h"

enum { LABEL_BYTES_MAX = 64, LABEL_NAMES = 4, NAMES_BYTES = 120 };

/* Extensions of labels. One of those after the first is used if it is the only one, and holds numbers. */
static const char *const label_names[LABEL_NAMES] = {"cls", "class", "label", "target"};

struct sample {
    bool open;
    char key[PATH_MAX];
    uint64_t header;      /* header of its first member */
    char image[PATH_MAX]; /* name of the member with the image; "": none */
    struct rue_entry entry;
    unsigned labelled; /* bits of the names in label_names that it has */
    int32_t labels[LABEL_NAMES];
    char extensions[NAMES_BYTES]; /* of its members, for messages */
};

/* Images of a mode that are not read, because their extension begins at an earlier dot of their name. */
struct dotted {
    uint64_t count;
    char first[PATH_MAX + 64];
};

/* The state while samples are indexed. */
struct group {
    struct rue_index *index;
    const struct rue_source_options *options;
    const char *image_key, *label_key; /* extensions; NULL: the default ones */
    bool chosen;                       /* the mode is set, by the first image */
    int label;                         /* which of label_names is used; -1: none yet */
    char extensions[NAMES_BYTES];      /* of all members, for messages */
    char unlabelled[PATH_MAX + 64];    /* the first image without a label; "" */
    char imageless[PATH_MAX + 64];     /* the first label without an image; "" */
    struct dotted dotted[RUE_MODE_COUNT];
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

static rue_status fail_sparse(const struct shard *shard, const struct rue_archive_member *member,
                              rue_error *error)
{
    return fail_sample_member(
        shard, member->header, member->name,
        "is sparse: make the archive with tar without --sparse (-S), or with bsdtar --no-read-sparse", error);
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

/* Records an image such as v1.0_001.jpg, whose extension is 0_001.jpg. */
static void record_dotted(struct group *group, const char *name, const char *extension)
{
    const char *last = strrchr(extension, '.');
    bool tensor = last && strcmp(last, ".npy") == 0;
    if (!last || !(tensor || rue_files_image_kind(extension))) return;
    struct dotted *dotted = &group->dotted[tensor ? RUE_PREPROCESSED : RUE_RAW];
    if (!dotted->count++)
        snprintf(dotted->first, sizeof dotted->first, "%s begins at its first dot (%s)", name, extension);
}

static bool is_image_extension(const char *extension)
{
    char name[8] = ".";
    snprintf(name + 1, sizeof name - 1, "%s", extension);
    return rue_files_image_kind(name);
}

static int group_mode(const struct group *group, const char *extension)
{
    const char *key = group->image_key, *last = strrchr(extension, '.');
    if (key && strcmp(key, extension) != 0) return -1;
    if (strcmp(last ? last + 1 : extension, "npy") == 0 && (key || !last)) return RUE_PREPROCESSED;
    return key || (!last && is_image_extension(extension)) ? RUE_RAW : -1;
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

/* Whether a sample has this image rather than that: a JPEG beside a mask or preview of another type. */
static bool is_preferred(const char *name, const char *other)
{
    return rue_files_image_kind(name) == RUE_IMAGE_JPEG && rue_files_image_kind(other) != RUE_IMAGE_JPEG;
}

/* Skips images that do not have the mode of the first image. */
static rue_status add_image(struct shard *shard, const struct rue_archive_member *member, int mode,
                            rue_error *error)
{
    struct group *group = shard->group;
    struct sample *sample = &shard->sample;
    if (!group->chosen) group->index->mode = (enum rue_mode)mode;
    if (group->index->mode != (enum rue_mode)mode) return RUE_OK;
    if (sample->image[0] && strcasecmp(sample->image, member->name) == 0)
        return fail_second_member(shard, member, error);
    if (sample->image[0] && !is_preferred(member->name, sample->image)) return RUE_OK;
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

/* The place of the extension in label_names; -1: it is not that of a label. A label_key has the first one. */
static int find_label_name(const struct group *group, const char *extension)
{
    if (group->label_key) return strcmp(extension, group->label_key) == 0 ? 0 : -1;
    for (int i = 0; i < LABEL_NAMES; i++)
        if (strcmp(extension, label_names[i]) == 0) return i;
    return -1;
}

/* Members with the other names are labels only if they hold numbers. */
static rue_status add_label(struct shard *shard, const struct rue_archive_member *member, int name,
                            rue_error *error)
{
    struct sample *sample = &shard->sample;
    char text[LABEL_BYTES_MAX + 1] = "";
    int64_t label;
    bool must = name == 0 || name == shard->group->label, too_long = member->bytes > LABEL_BYTES_MAX;
    if (sample->labelled >> name & 1) return must ? fail_second_member(shard, member, error) : RUE_OK;
    rue_status status = too_long ? RUE_OK : read_member(shard, member, text, member->bytes, error);
    if (status != RUE_OK) return status;
    bool number = !too_long && read_number(text, &label);
    if (number && label >= 0 && label <= INT32_MAX) {
        sample->labelled |= 1u << name;
        sample->labels[name] = (int32_t)label;
    } else if (must) {
        return fail_sample_member(shard, member->header, member->name,
                                  number && label > 0 ? "is too large a label: write at most 2147483647"
                                                      : "is not a label: write a whole number of at least 0",
                                  error);
    }
    return RUE_OK;
}

/* The first image with a label determines where labels are. If there are several, none is used. */
static void choose_label(struct group *group, unsigned labelled)
{
    if (labelled & 1)
        group->label = 0;
    else if (labelled && !(labelled & (labelled - 1)))
        group->label = __builtin_ctz(labelled);
}

/* ---- samples ---- */

/* Writes the place of the current sample to `out`, unless it holds an earlier one. */
static void record_place(const struct shard *shard, char out[PATH_MAX + 64])
{
    if (!out[0])
        snprintf(out, PATH_MAX + 64, "%s: the sample at byte %" PRIu64, shard->file, shard->sample.header);
}

static rue_status end_sample(struct shard *shard, rue_error *error)
{
    struct group *group = shard->group;
    struct sample *sample = &shard->sample;
    if (!sample->open) return RUE_OK;
    sample->open = false;
    if (!sample->image[0]) {
        if (sample->labelled) record_place(shard, group->imageless);
        rue_index_skip(group->index, "%s, the sample %s at byte %" PRIu64 " without an image (it has %s)",
                       shard->file, sample->key, sample->header, sample->extensions);
        return RUE_OK;
    }
    if (group->label < 0) choose_label(group, sample->labelled);
    if (group->label >= 0 && sample->labelled >> group->label & 1)
        sample->entry.label = sample->labels[group->label];
    else
        record_place(shard, group->unlabelled);
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
    sample->labelled = 0;
    sample->image[0] = sample->extensions[0] = 0;
    sample->entry = (struct rue_entry){0};
    snprintf(sample->key, sizeof sample->key, "%.*s", (int)key_length, member->name);
    return status;
}

/* Skips a member that is not a regular file. */
static rue_status skip_member(const struct shard *shard, const struct rue_archive_member *member)
{
    if (!member->folder)
        rue_index_skip(shard->group->index, "%s, the member %s at byte %" PRIu64 ", %s", shard->file,
                       member->name, member->header, member->sparse ? "a sparse file" : "a link or device");
    return RUE_OK;
}

static rue_status add_member(struct shard *shard, const struct rue_archive_member *member, rue_error *error)
{
    char extension[PATH_MAX];
    const char *end = key_end(member->name);
    snprintf(extension, sizeof extension, "%s", end ? end + 1 : "");
    for (char *at = extension; *at; at++) *at = (char)tolower((unsigned char)*at);
    int mode = group_mode(shard->group, extension), label = find_label_name(shard->group, extension);
    if (member->sparse && (mode >= 0 || label >= 0)) return fail_sparse(shard, member, error);
    if (!member->regular) return skip_member(shard, member);
    if (!end) return RUE_OK;
    rue_status status = begin_sample(shard, member, (size_t)(end - member->name), error);
    if (status != RUE_OK) return status;
    rue_note_list_name(shard->sample.extensions, NAMES_BYTES, extension, strlen(extension));
    rue_note_list_name(shard->group->extensions, NAMES_BYTES, extension, strlen(extension));
    if (mode >= 0) return add_image(shard, member, mode, error);
    if (label >= 0) return add_label(shard, member, label, error);
    return record_dotted(shard->group, member->name, extension), RUE_OK;
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

static rue_status index_members(struct shard *shard, rue_error *error)
{
    const struct rue_archive_member *member;
    rue_status status = RUE_OK;
    bool found = true, empty = true;
    for (; status == RUE_OK && found; empty &= !found) {
        status = rue_source_check_stop(shard->group->options, error);
        if (status == RUE_OK) status = rue_archive_reader_next(shard->reader, &member, &found, error);
        if (status == RUE_OK && found) status = add_member(shard, member, error);
    }
    if (status == RUE_OK && empty) rue_shards_skip_empty(shard->group->index, shard->number);
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

/* The image and the label of a sample have the same key and follow each other. */
static rue_status check_labels(const struct group *group, rue_error *error)
{
    const char *key = group->options->label_key;
    if (group->unlabelled[0] && group->imageless[0])
        return rue_fail(error, RUE_DATA,
                        "%s has no label, and %s has a label but no image: give both the same name, and sort "
                        "the members by name",
                        group->unlabelled, group->imageless);
    if (group->label >= 0 && group->unlabelled[0])
        return rue_fail(
            error, RUE_DATA,
            "%s has no label, but other samples have one: add it, or name its extension with label_key",
            group->unlabelled);
    if (group->label < 0 && key)
        return rue_fail(error, RUE_DATA,
                        "%s has no label '%s', and no other sample has it: name another extension with "
                        "label_key; the extensions are %s",
                        group->unlabelled, group->label_key, group->extensions);
    if (group->label < 0)
        rue_index_note_unlabelled(
            group->index, "the extensions are %s; name that of the labels with label_key", group->extensions);
    return RUE_OK;
}

static rue_status fail_no_image(const struct group *group, const char *path, size_t shards, rue_error *error)
{
    const char *key = group->image_key ? group->image_key : ".jpg, .png, .webp, .gif, .bmp, .npy";
    if (!group->extensions[0])
        return rue_fail(error, RUE_DATA, "%s holds no sample in its %zu shards: give shards of images", path,
                        shards);
    for (int mode = 0; mode < RUE_MODE_COUNT; mode++)
        if (group->dotted[mode].count)
            return rue_fail(
                error, RUE_DATA,
                "%s: the extension of %s: rename such files, or set image_key to one that all samples have",
                path, group->dotted[mode].first);
    return rue_fail(error, RUE_DATA,
                    "%s holds no sample with an image (%s) in its %zu shards: name the extension of images "
                    "with image_key; the extensions are %s",
                    path, key, shards, group->extensions);
}

static void note_dotted(const struct group *group)
{
    const struct dotted *dotted = &group->dotted[group->index->mode];
    if (dotted->count)
        rue_index_note(group->index, "images not read: %" PRIu64 ", as the extension of %s", dotted->count,
                       dotted->first);
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
                          .label_key = without_dot(options->label_key),
                          .label = -1};
    size_t count = rue_files_count(index->files);
    struct shard *shard = malloc(sizeof *shard);
    if (!shard) return rue_fail_memory(error, "reading samples", sizeof *shard);
    rue_status status = RUE_OK;
    index->kind = RUE_ITEM_MEMBER;
    for (uint32_t i = 0; status == RUE_OK && i < count; i++) status = index_shard(&group, shard, i, error);
    free(shard);
    if (status == RUE_OK && index->count == 0) return fail_no_image(&group, path, count, error);
    if (status == RUE_OK) note_dotted(&group);
    return status == RUE_OK ? check_labels(&group, error) : status;
}

static const struct rue_shard_format format = {
    .version = "webdataset 11", .is_shard = is_shard, .index = build_index};

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
    .help = "tar shards of image or npy members, plain or compressed",
    .probe = probe_webdataset,
    .open = open_webdataset,
};
