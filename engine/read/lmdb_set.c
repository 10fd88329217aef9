#include "lmdb_set.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "crc32c.h"
#include "lmdb_pages.h"
#include "lmdb_record.h"
#include "read_at.h"
#include "source_failure.h"

enum { KEY_DIGITS_MAX = 16, LABEL_BYTES_MAX = 256, KEY_SHOWN = 64 };
static const uint64_t index_bytes_max = UINT64_C(1) << 32;
static const char index_text[] = "the index of an LMDB";

/* Where the text of a label lies. */
struct rue_lmdb_label {
    uint64_t number, offset, bytes;
};

/* ---- keys ---- */

bool rue_lmdb_find(const char *path, char out[PATH_MAX])
{
    struct stat about;
    if (stat(path, &about) != 0) return false;
    int length = snprintf(out, PATH_MAX, "%s%s", path, S_ISDIR(about.st_mode) ? "/data.mdb" : "");
    return length < PATH_MAX || (errno = ENAMETOOLONG, false);
}

/* The digits at `text`, at least one: how many there are, 0 for none or too many. */
static size_t read_digits(const char *text, size_t bytes, uint64_t *number)
{
    size_t digits = 0;
    for (*number = 0; digits < bytes && isdigit((unsigned char)text[digits]); digits++)
        *number = 10 * *number + (uint64_t)(text[digits] - '0');
    return digits <= KEY_DIGITS_MAX ? digits : 0;
}

/* Whether the key is `before`, digits and `after`, and nothing else. */
static bool is_key(const struct rue_lmdb_entry *entry, const char *before, const char *after,
                   uint64_t *number, size_t *digits)
{
    const char *key = (const char *)entry->key;
    size_t prefix = strlen(before), suffix = strlen(after);
    if (entry->key_bytes <= prefix + suffix || memcmp(key, before, prefix) != 0) return false;
    size_t middle = entry->key_bytes - prefix - suffix;
    if (memcmp(key + prefix + middle, after, suffix) != 0) return false;
    *digits = middle <= KEY_DIGITS_MAX ? read_digits(key + prefix, middle, number) : 0;
    return *digits == middle;
}

static void note_other(struct rue_lmdb_set *set, const struct rue_lmdb_entry *entry)
{
    static const char *const known[] = {"num-samples", "__len__", "__keys__"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (entry->key_bytes == strlen(known[i]) && memcmp(entry->key, known[i], entry->key_bytes) == 0)
            return;
    if (set->others++) return;
    int shown = entry->key_bytes < KEY_SHOWN ? (int)entry->key_bytes : KEY_SHOWN;
    int begun = snprintf(set->other, sizeof set->other, "%s '",
                         entry->is_database ? "the named database" : "the key");
    for (int i = 0; i < shown; i++)
        set->other[begun + i] = isprint(entry->key[i]) ? (char)entry->key[i] : '?';
    snprintf(set->other + begun + shown, sizeof set->other - (size_t)(begun + shown), "'");
}

static rue_status add_item(struct rue_lmdb_set *set, const struct rue_lmdb_entry *entry, const char *prefix,
                           uint64_t number, size_t digits, rue_error *error)
{
    if (!set->prefix) set->prefix = prefix;
    if (strcmp(set->prefix, prefix) != 0)
        return rue_fail(error, RUE_DATA,
                        "%s holds items under keys of digits and under image-<digits>: "
                        "keep one of them",
                        set->path);
    rue_status status =
        rue_array_grow(&set->items, &set->capacity, set->count + 1, sizeof *set->items, index_text, error);
    if (status != RUE_OK) return status;
    set->items[set->count++] = (struct rue_lmdb_item){
        .offset = entry->offset, .bytes = entry->bytes, .number = number, .digits = digits & 0xff};
    return RUE_OK;
}

static rue_status visit(void *context, const struct rue_lmdb_entry *entry, rue_error *error)
{
    struct rue_lmdb_set *set = context;
    uint64_t number;
    size_t digits;
    rue_status stopped = rue_source_check_stop(set->options, error);
    if (stopped != RUE_OK) return stopped;
    if (entry->is_database) return note_other(set, entry), RUE_OK;
    if (is_key(entry, "", "", &number, &digits)) return add_item(set, entry, "", number, digits, error);
    if (is_key(entry, "image-", "", &number, &digits))
        return add_item(set, entry, "image-", number, digits, error);
    if (is_key(entry, "label-", "", &number, &digits) || is_key(entry, "", ".cls", &number, &digits)) {
        rue_status status = rue_array_grow(&set->labels, &set->label_capacity, set->label_count + 1,
                                           sizeof *set->labels, index_text, error);
        if (status != RUE_OK) return status;
        set->labels[set->label_count++] = (struct rue_lmdb_label){number, entry->offset, entry->bytes};
        return RUE_OK;
    }
    size_t own = strlen(RUE_LMDB_INDEX_KEY);
    if (entry->key_bytes == own && memcmp(entry->key, RUE_LMDB_INDEX_KEY, own) == 0)
        set->index_offset = entry->offset, set->index_bytes = entry->bytes;
    else
        note_other(set, entry);
    return RUE_OK;
}

void rue_lmdb_set_key(const struct rue_lmdb_set *set, uint64_t item, char out[RUE_LMDB_KEY_TEXT_BYTES])
{
    const struct rue_lmdb_item *at = &set->items[item];
    snprintf(out, RUE_LMDB_KEY_TEXT_BYTES, "%s%0*" PRIu64, set->prefix, (int)at->digits,
             (uint64_t)at->number);
}

static rue_status fail_read(const struct rue_lmdb_set *set, const char *what, rue_error *error)
{
    return rue_fail(error, rue_source_failure(errno), "cannot read %s of %s: %s", what, set->path,
                    errno ? strerror(errno) : "the file ends");
}

static rue_status fail_again(const struct rue_lmdb_set *set, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: %s; make it again with 'rue prepare'", set->path, why);
}

/* ---- rue's own layout ---- */

static rue_status read_classes(struct rue_lmdb_set *set, char *at, const char *end, size_t count,
                               rue_error *error)
{
    set->classes = calloc(count + 1, sizeof *set->classes);
    if (!set->classes) return rue_fail_memory(error, "class names", count * sizeof *set->classes);
    for (; set->class_count < count; set->class_count++) {
        if (at >= end) return fail_again(set, "class names are missing", error);
        set->classes[set->class_count] = at;
        at += strlen(at) + 1;
    }
    return RUE_OK;
}

static bool names_class(const struct rue_lmdb_set *set, int32_t label)
{
    return set->class_count == 0 || (label >= -1 && label < (int64_t)set->class_count);
}

static rue_status take_notes(struct rue_lmdb_set *set, const struct rue_lmdb_note *notes, rue_error *error)
{
    uint64_t tensor = (uint64_t)set->shape[0] * set->shape[1] * set->shape[2] * rue_dtype_bytes[set->dtype];
    for (size_t i = 0; i < set->count; i++) {
        struct rue_lmdb_item *item = &set->items[i];
        item->label = notes[i].label;
        item->data_offset = notes[i].data_offset;
        bool fits = item->data_offset >= sizeof(struct rue_lmdb_record) &&
                    item->data_offset <= rue_lmdb_data_offset(RUE_LMDB_NAME_MAX) &&
                    item->data_offset % RUE_LMDB_ALIGN == 0 && item->data_offset <= item->bytes;
        if (fits && set->mode == RUE_PREPROCESSED) fits = item->bytes - item->data_offset == tensor;
        if (item->number == i && fits && names_class(set, item->label)) continue;
        char key[RUE_LMDB_KEY_TEXT_BYTES];
        rue_lmdb_set_key(set, i, key);
        return rue_fail(error, RUE_DATA,
                        "%s: key %s does not fit the index; make it again with 'rue prepare'", set->path,
                        key);
    }
    return RUE_OK;
}

/* The first record says of what kind all are. */
static rue_status read_kind(struct rue_lmdb_set *set, rue_error *error)
{
    struct rue_lmdb_record record;
    const char *why = NULL;
    if (set->items[0].bytes < sizeof record) return fail_again(set, "the first record has no header", error);
    if (!rue_read_at(set->fd, &record, sizeof record, set->items[0].offset))
        return fail_read(set, "the first record", error);
    if (memcmp(record.magic, RUE_LMDB_RECORD_MAGIC, sizeof record.magic) != 0)
        why = "the first record has no header";
    else if (record.version != RUE_LMDB_VERSION)
        why = "it is of another version of the layout";
    else if (record.mode >= RUE_MODE_COUNT || record.dtype >= RUE_DTYPE_COUNT)
        why = "the mode or dtype of the first record is unknown";
    else if (record.mode == RUE_PREPROCESSED &&
             (!record.channels || !record.height || !record.width || record.channels > 4096 ||
              record.height > 65536 || record.width > 65536))
        why = "the shape of the first record is impossible";
    if (why) return fail_again(set, why, error);
    set->mode = (enum rue_mode)record.mode;
    set->dtype = (enum rue_dtype)record.dtype;
    memcpy(set->shape, (uint32_t[]){record.channels, record.height, record.width}, sizeof set->shape);
    return RUE_OK;
}

static rue_status open_ours(struct rue_lmdb_set *set, rue_error *error)
{
    struct rue_lmdb_index header;
    uint64_t bytes = set->index_bytes, notes = set->count * sizeof(struct rue_lmdb_note);
    set->is_ours = true;
    if (bytes < sizeof header + notes || bytes > index_bytes_max)
        return fail_again(set, "its index is too short for its items", error);
    set->index = malloc(bytes + 1);
    if (!set->index) return rue_fail_memory(error, "the index of an LMDB", bytes);
    if (!rue_read_at(set->fd, set->index, bytes, set->index_offset))
        return fail_read(set, "the index", error);
    set->index[bytes] = 0;
    memcpy(&header, set->index, sizeof header);
    size_t covered = offsetof(struct rue_lmdb_index, count);
    if (memcmp(header.magic, RUE_LMDB_INDEX_MAGIC, sizeof header.magic) != 0 ||
        header.crc != rue_crc32c(0, set->index + covered, bytes - covered))
        return fail_again(set, "its index (the key '" RUE_LMDB_INDEX_KEY "') is damaged", error);
    if (header.version != RUE_LMDB_VERSION)
        return fail_again(set, "it is of another version of the layout", error);
    if (header.count != set->count || header.class_count > bytes)
        return fail_again(set, "it does not hold as many items as its index says", error);
    set->index_crc = header.crc;
    rue_status status = read_kind(set, error);
    if (status == RUE_OK)
        status = read_classes(set, set->index + sizeof header + notes, set->index + bytes, header.class_count,
                              error);
    if (status == RUE_OK)
        status = take_notes(set, (const struct rue_lmdb_note *)(set->index + sizeof header), error);
    return status;
}

/* ---- the common layout ---- */

static rue_status check_first(const struct rue_lmdb_set *set, rue_error *error)
{
    char begin[8] = "", key[RUE_LMDB_KEY_TEXT_BYTES];
    uint64_t bytes = set->items[0].bytes < sizeof begin ? set->items[0].bytes : sizeof begin;
    rue_lmdb_set_key(set, 0, key);
    if (!rue_read_at(set->fd, begin, bytes, set->items[0].offset)) return fail_read(set, key, error);
    if (memcmp(begin, RUE_LMDB_RECORD_MAGIC, sizeof begin) == 0)
        return fail_again(set, "it was not finished: it has no index (the key '" RUE_LMDB_INDEX_KEY "')",
                          error);
    if (memcmp(begin, "\xff\xd8", 2) == 0) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s: the value of key %s is no JPEG file, and no record of rue's: make it again with "
                    "'rue prepare'",
                    set->path, key);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct rue_lmdb_label *)a)->number, y = ((const struct rue_lmdb_label *)b)->number;
    return (x > y) - (x < y);
}

static rue_status read_label(struct rue_lmdb_set *set, size_t item, rue_error *error)
{
    char text[LABEL_BYTES_MAX], key[RUE_LMDB_KEY_TEXT_BYTES];
    const struct rue_lmdb_label wanted = {.number = set->items[item].number};
    const struct rue_lmdb_label *place =
        bsearch(&wanted, set->labels, set->label_count, sizeof *set->labels, by_number);
    rue_lmdb_set_key(set, item, key);
    if (!place)
        return rue_fail(error, RUE_DATA, "%s: key %s has no label, though others have: add it", set->path,
                        key);
    bool fits = place->bytes <= sizeof text;
    size_t bytes = fits ? place->bytes : 0;
    if (!rue_read_at(set->fd, text, bytes, place->offset)) return fail_read(set, "a label", error);
    while (bytes > 0 && (isspace((unsigned char)text[bytes - 1]) || !text[bytes - 1])) bytes--;
    for (size_t i = 0; i < bytes; i++) fits &= !iscntrl((unsigned char)text[i]);
    if (!fits || bytes == 0)
        return rue_fail(error, RUE_DATA, "%s: the label of key %s is no text of 1 to %d bytes", set->path,
                        key, LABEL_BYTES_MAX);
    return rue_label_words_add(set->words, text, bytes, item, error);
}

static rue_status finish_labels(struct rue_lmdb_set *set, rue_error *error)
{
    char key[RUE_LMDB_KEY_TEXT_BYTES];
    uint64_t item = 0;
    rue_error why = {0};
    rue_status status = rue_label_words_finish(set->words, &item, &why);
    if (status == RUE_OK) return RUE_OK;
    rue_lmdb_set_key(set, item, key);
    return rue_fail(error, status, "%s: key %s: %s", set->path, key, why.message);
}

static rue_status open_common(struct rue_lmdb_set *set, rue_error *error)
{
    rue_status status = check_first(set, error);
    if (status != RUE_OK || set->label_count == 0) return status;
    qsort(set->labels, set->label_count, sizeof *set->labels, by_number);
    status = rue_label_words_open(&set->words, error);
    for (size_t i = 0; status == RUE_OK && i < set->count; i++) {
        status = rue_source_check_stop(set->options, error);
        if (status == RUE_OK) status = read_label(set, i, error);
    }
    if (status == RUE_OK) status = finish_labels(set, error);
    if (status != RUE_OK) return status;
    for (size_t i = 0; i < set->count; i++) set->items[i].label = rue_label_words_label(set->words, i);
    size_t count = rue_label_words_class_count(set->words);
    set->classes = calloc(count + 1, sizeof *set->classes);
    if (!set->classes) return rue_fail_memory(error, "class names", count * sizeof *set->classes);
    for (set->class_count = 0; set->class_count < count; set->class_count++)
        set->classes[set->class_count] = rue_label_words_class(set->words, set->class_count);
    return RUE_OK;
}

/* ---- the set ---- */

static rue_status read_index(struct rue_lmdb_set *set, rue_error *error)
{
    rue_status status = rue_lmdb_walk(set->fd, set->path, visit, set, error);
    if (status != RUE_OK) return status;
    if (set->count == 0 && set->others)
        return rue_fail(
            error, RUE_DATA,
            "%s holds no images: it has no key of digits, such as 00000000, but %s; make it again", set->path,
            set->other);
    if (set->count == 0)
        return rue_fail(error, RUE_DATA, "%s is empty: give an LMDB that holds images", set->path);
    return set->index_bytes && !*set->prefix ? open_ours(set, error) : open_common(set, error);
}

void rue_lmdb_set_close(struct rue_lmdb_set *set)
{
    if (set->fd >= 0) close(set->fd);
    rue_label_words_close(set->words);
    free(set->classes);
    free(set->index);
    free(set->labels);
    free(set->items);
    *set = (struct rue_lmdb_set){.fd = -1};
}

rue_status rue_lmdb_set_open(const char *path, const struct rue_source_options *options,
                             struct rue_lmdb_set *set, rue_error *error)
{
    struct stat about;
    *set = (struct rue_lmdb_set){.fd = -1, .options = options};
    bool found = rue_lmdb_find(path, set->path);
    set->fd = found ? open(set->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    rue_status status = RUE_OK;
    if (set->fd < 0 || fstat(set->fd, &about) != 0)
        status = rue_fail_open(error, found ? set->path : path);
    else
        set->identity = rue_file_identity_of(&about);
    if (status == RUE_OK) status = read_index(set, error);
    if (status != RUE_OK) rue_lmdb_set_close(set);
    return status;
}
