#include "source_index.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "files.h"

static const char what[] = "the index of the data";

/* Adds `bytes` of a text and a NUL; sets `*at` to where they are. */
static rue_status add_text(struct rue_name_pool *names, const char *text, size_t bytes, uint32_t *at,
                           rue_error *error)
{
    rue_status status =
        rue_array_grow(&names->text, &names->capacity, names->used + bytes + 1, 1, what, error);
    if (status != RUE_OK) return status;
    if (names->used + bytes >= UINT32_MAX)
        return rue_fail(error, RUE_DATA, "the data hold more than 4 GiB of names: split them");
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
                                       sizeof *index->entries, what, error);
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

static size_t class_length(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

rue_status rue_index_label_by_folder(struct rue_index *index, rue_error *error)
{
    uint64_t kept = 0, count = index->count;
    bool nested = false;
    char last[NAME_MAX + 1] = "", class[NAME_MAX + 1];
    for (uint64_t i = 0; i < count; i++) nested |= class_length(rue_index_name(index, i)) > 0;
    for (uint64_t i = 0; nested && i < count; i++) {
        const char *name = rue_index_name(index, i);
        size_t length = class_length(name);
        if (!length) continue;
        snprintf(class, sizeof class, "%.*s", (int)length, name);
        rue_status status = RUE_OK;
        if (strcmp(class, last) != 0) status = rue_index_add_class(index, class, length, error);
        if (status != RUE_OK) return status;
        memcpy(last, class, length + 1);
        index->entries[kept] = index->entries[i];
        index->entries[kept++].label = (int32_t)index->class_count - 1;
    }
    if (nested) index->count = kept;
    return RUE_OK;
}

void rue_index_skip(struct rue_index *index, const char *format, ...)
{
    char text[2 * PATH_MAX + 256];
    if (index->skipped++) return;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    for (char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at)) *at = '?';
    rue_error_shorten(text, index->skipped_example, sizeof index->skipped_example);
}

const char *rue_index_name(const struct rue_index *index, uint64_t item)
{
    return index->entries ? index->names.text + index->entries[item].name : "";
}
