/* What the fuzzer gives, opened as a source of one format: all of it can be used, or there is a reason. */
#ifndef RUE_FUZZ_SOURCE_H
#define RUE_FUZZ_SOURCE_H

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "fuzz_file.h"
#include "source.h"

enum { FUZZ_ITEMS = 4, FUZZ_ITEM_BYTES_MAX = 1 << 20 };

/* NULL where it does not open; `fd` is to be closed. */
static inline struct rue_source *fuzz_source_open(const void *data, size_t bytes, const char *format, int *fd)
{
    char path[64];
    rue_error error = {0};
    struct rue_source *source = NULL;
    const struct rue_source_options options = {.format = format, .read_only = true, .sequential = true};
    *fd = fuzz_file(data, bytes, path);
    rue_status status = rue_source_open(path, &options, &source, &error);
    assert(status == RUE_OK || (status == error.status && error.message[0]));
    return status == RUE_OK ? source : NULL;
}

/* Every item has a place within `bytes`, unless it is compressed; the first ones can be read. */
static inline void fuzz_source_use(struct rue_source *source, size_t bytes)
{
    char name[PATH_MAX + 64];
    uint64_t count = rue_source_count(source);
    assert(count > 0);
    for (uint64_t i = 0; i < count; i++) {
        struct rue_place place;
        rue_error error = {0};
        bool placed = rue_source_place(source, RUE_ACCESS_READ, i, &place);
        assert(placed != rue_source_is_sequential(source) &&
               (!placed || place.offset + place.bytes <= bytes));
        rue_source_name(source, i, name, sizeof name);
        rue_source_key(source, i, name, sizeof name);
        assert(name[0] && rue_source_label(source, i) >= -1);
        uint64_t held = rue_source_bytes(source, i);
        if (i >= FUZZ_ITEMS || held > FUZZ_ITEM_BYTES_MAX) continue;
        unsigned char *item = malloc(held + 1);
        if (!item) abort();
        rue_status status = rue_source_read(source, i, item, &error);
        if (status == RUE_OK) status = rue_source_verify(source, i, item, &error);
        assert(status == RUE_OK || error.message[0]);
        free(item);
    }
    for (size_t c = 0; c < rue_source_class_count(source); c++)
        assert(strlen(rue_source_class_name(source, c)) <= PATH_MAX * 16);
}

static inline void fuzz_source(const void *data, size_t bytes, const char *format)
{
    int fd;
    struct rue_source *source = fuzz_source_open(data, bytes, format, &fd);
    if (source) fuzz_source_use(source, bytes);
    rue_source_close(source);
    close(fd);
}

#endif
