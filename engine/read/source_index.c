#include "source_index.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "files.h"
#include "note.h"
#include "utf8.h"

static const char purpose[] = "the index of the data";

/* Adds `bytes` of a text and a NUL; sets `*at` to their offset. */
static rue_status add_text(struct rue_name_pool *names, const char *text, size_t bytes, uint32_t *at,
                           rue_error *error)
{
    rue_status status =
        rue_array_grow(&names->text, &names->capacity, names->used + bytes + 1, 1, purpose, error);
    if (status != RUE_OK) return status;
    if (names->used + bytes >= UINT32_MAX)
        return rue_fail(error, RUE_DATA, "the names of the images exceed 4 GiB: split the data");
    memcpy(names->text + names->used, text, bytes);
    names->text[names->used + bytes] = 0;
    *at = (uint32_t)names->used;
    names->used += bytes + 1;
    return RUE_OK;
}

rue_status rue_index_add(struct rue_index *index, const struct rue_entry *entry, const char *name,
                         rue_error *error)
{
    rue_status status = rue_array_grow(&index->entries, &index->capacity, index->count + 1,
                                       sizeof *index->entries, purpose, error);
    if (status != RUE_OK) return status;
    struct rue_entry *added = &index->entries[index->count];
    *added = *entry;
    status = add_text(&index->names, name, strlen(name), &added->name, error);
    if (status == RUE_OK) index->count++;
    return status;
}

rue_status rue_index_add_class(struct rue_index *index, const char *name, size_t bytes, rue_error *error)
{
    rue_status status = rue_array_grow(&index->classes, &index->class_capacity, index->class_count + 1,
                                       sizeof *index->classes, "class names", error);
    if (status == RUE_OK)
        status = add_text(&index->names, name, bytes, &index->classes[index->class_count], error);
    if (status == RUE_OK) index->class_count++;
    return status;
}

static const char *class_name(const struct rue_index *index, size_t class)
{
    return index->names.text + index->classes[class];
}

static size_t class_length(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

/* Copies the name first: it is in the array that grows. */
static rue_status add_class(struct rue_index *index, const char *name, size_t length, rue_error *error)
{
    char class[PATH_MAX];
    if (length >= sizeof class)
        return rue_fail(error, RUE_DATA, "the name of the folder %.64s... is too long: rename it", name);
    memcpy(class, name, length);
    return rue_index_add_class(index, class, length, error);
}

/* Adds the first folders as classes, again if other items come between those of a class. */
static rue_status add_folders(struct rue_index *index, rue_error *error)
{
    rue_status status = RUE_OK;
    const char *last = "";
    for (uint64_t i = 0; status == RUE_OK && i < index->count; i++) {
        const char *name = rue_index_name(index, i);
        size_t length = class_length(name);
        if (!length || (strncmp(last, name, length) == 0 && !last[length])) continue;
        status = add_class(index, name, length, error);
        if (status == RUE_OK) last = class_name(index, index->class_count - 1);
    }
    return status;
}

/* The next character of a class name, which ends at a NUL or '/'. As in Python's names of files, a byte that
 * is not UTF-8 is a surrogate. */
static int32_t next_name_point(const char **at)
{
    unsigned char byte = (unsigned char)**at;
    int32_t point = byte == '/' ? 0 : rue_utf8_next(at);
    return point < 0 ? 0xDC00 + byte : point;
}

/* Compares code points, as Python's sorted() does for ImageFolder. */
static int compare_names(const char *a, const char *b)
{
    int32_t x, y;
    do {
        x = next_name_point(&a);
        y = next_name_point(&b);
    } while (x && x == y);
    return (x > y) - (x < y);
}

static int compare_class_names(const void *a, const void *b, void *names)
{
    return compare_names((const char *)names + *(const uint32_t *)a,
                         (const char *)names + *(const uint32_t *)b);
}

/* Of sorted classes. */
static void remove_repeated_classes(struct rue_index *index)
{
    size_t kept = 1;
    for (size_t i = 1; i < index->class_count; i++)
        if (strcmp(class_name(index, kept - 1), class_name(index, i)) != 0)
            index->classes[kept++] = index->classes[i];
    index->class_count = kept;
}

/* The number of the class that the name begins with, which exists. */
static int32_t find_class(const struct rue_index *index, const char *name)
{
    size_t first = 0, last = index->class_count - 1;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (compare_names(class_name(index, middle), name) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return (int32_t)first;
}

/* The order of items may differ from that of their classes: "a-b/x" precedes "a/x". */
rue_status rue_index_label_by_folder(struct rue_index *index, rue_error *error)
{
    uint64_t count = 0;
    size_t without_items = index->class_count;
    rue_status status = add_folders(index, error);
    if (index->class_count == without_items) index->class_count = 0;
    if (status != RUE_OK || index->class_count == 0) return status;
    qsort_r(index->classes, index->class_count, sizeof *index->classes, compare_class_names,
            index->names.text);
    remove_repeated_classes(index);
    for (uint64_t i = 0; i < index->count; i++) {
        const char *name = rue_index_name(index, i);
        if (!class_length(name)) {
            rue_index_skip(index, "%s, which is not in a class folder", name);
            continue;
        }
        index->entries[count] = index->entries[i];
        index->entries[count++].label = find_class(index, name);
    }
    index->count = count;
    return RUE_OK;
}

void rue_index_skip(struct rue_index *index, const char *format, ...)
{
    if (index->remarks.skipped++) return;
    va_list values;
    va_start(values, format);
    rue_note_add_list(index->remarks.skipped_example, RUE_EXAMPLE_BYTES, format, values);
    va_end(values);
}

void rue_index_note(struct rue_index *index, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    rue_note_add_list(index->remarks.note, RUE_NOTE_BYTES, format, values);
    va_end(values);
}

void rue_index_note_unlabelled(struct rue_index *index, const char *format, ...)
{
    char text[RUE_NOTE_BYTES] = "no labels found: ";
    size_t used = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + used, sizeof text - used, format, values);
    va_end(values);
    index->remarks.unlabelled = true;
    rue_index_note(index, "%s", text);
}

const char *rue_index_name(const struct rue_index *index, uint64_t item)
{
    return index->entries ? index->names.text + index->entries[item].name : "";
}
