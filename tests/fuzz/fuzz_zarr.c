/* A store whose metadata, or whose only chunk, is what the fuzzer gives: its items can be read, or there is a
 * reason. The first byte says which of them, and how the chunk is stored; the second one which metadata. */
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_source.h"

/* Chunks of 2 x 1 x 4 x 8, and a shard of two of them. */
static const char *const stored[] = {
    "{\"zarr_format\":2,\"shape\":[2,1,4,8],\"chunks\":[2,1,4,8],\"dtype\":\"<f4\",\"order\":\"C\","
    "\"compressor\":null}",
    "{\"zarr_format\":2,\"shape\":[2,1,4,8],\"chunks\":[2,1,4,8],\"dtype\":\"<f4\",\"order\":\"C\","
    "\"compressor\":{\"id\":\"gzip\"}}",
    "{\"zarr_format\":2,\"shape\":[2,1,4,8],\"chunks\":[2,1,4,8],\"dtype\":\"<f4\",\"order\":\"C\","
    "\"compressor\":{\"id\":\"zstd\"}}",
    "{\"zarr_format\":2,\"shape\":[2,1,4,8],\"chunks\":[2,1,4,8],\"dtype\":\"<f4\",\"order\":\"C\","
    "\"compressor\":{\"id\":\"blosc\"}}",
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4,1,4,8],\"data_type\":\"float32\",\"chunk_grid\":"
    "{\"name\":"
    "\"regular\",\"configuration\":{\"chunk_shape\":[4,1,4,8]}},\"chunk_key_encoding\":{\"name\":\"v2\"},"
    "\"fill_value\":0,"
    "\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2,1,4,8],\"codecs\":[{"
    "\"name\":"
    "\"bytes\"},{\"name\":\"zstd\"}],\"index_codecs\":[{\"name\":\"bytes\"}]}}]}",
};
enum { STORED = sizeof stored / sizeof *stored };

static void write_file(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) abort();
}

static void make_folder(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0700) != 0) abort();
}

static void remove_file(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (unlink(path) != 0) rmdir(path);
}

/* The metadata of an array, its attributes, or the metadata of labels in a group. */
static void write_metadata(const char *folder, unsigned kind, const void *text, size_t bytes)
{
    static const char *const names[] = {".zarray", "zarr.json", ".zattrs", "labels/.zarray",
                                        "labels/zarr.json"};
    static const char chunk[256];
    kind %= sizeof names / sizeof *names;
    bool group = kind > 2;
    if (group) make_folder(folder, "images");
    if (group) make_folder(folder, "labels");
    if (group) write_file(folder, ".zgroup", "{}", 2);
    if (kind >= 2) write_file(folder, group ? "images/.zarray" : ".zarray", stored[0], strlen(stored[0]));
    write_file(folder, names[kind], text, bytes);
    write_file(folder, group ? "images/0.0.0.0" : "0.0.0.0", chunk, sizeof chunk);
}

static void use(struct rue_source *source)
{
    for (uint64_t i = 0; i < rue_source_count(source) && i < FUZZ_ITEMS; i++) {
        rue_error error = {0};
        uint64_t bytes = rue_source_bytes(source, i);
        if (bytes > FUZZ_ITEM_BYTES_MAX) return;
        unsigned char *item = malloc(bytes + 1);
        if (!item) abort();
        rue_status status = rue_source_read(source, i, item, &error);
        assert(status == RUE_OK || error.message[0]);
        free(item);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    static const char *const names[] = {".zarray",        "zarr.json",        ".zattrs",        "0.0.0.0",
                                        ".zgroup",        "images/.zarray",   "images/0.0.0.0", "images",
                                        "labels/.zarray", "labels/zarr.json", "labels"};
    static char folder[] = "/dev/shm/fuzz-zarr-XXXXXX";
    static bool made;
    if (bytes < 2) return 0;
    if (!made && !mkdtemp(folder)) abort();
    made = true;
    unsigned kind = data[0] % (STORED + 1); /* the last one: the metadata */
    const char *metadata = kind == STORED - 1 ? "zarr.json" : ".zarray";
    if (kind < STORED) {
        write_file(folder, metadata, stored[kind], strlen(stored[kind]));
        write_file(folder, "0.0.0.0", data + 1, bytes - 1);
    } else {
        write_metadata(folder, data[1], data + 2, bytes - 2);
    }
    rue_error error = {0};
    struct rue_source *source = NULL;
    const struct rue_source_options options = {.format = "zarr"};
    rue_status status = rue_source_open(folder, &options, &source, &error);
    assert(status == RUE_OK || error.message[0]);
    if (status == RUE_OK) use(source);
    rue_source_close(status == RUE_OK ? source : NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove_file(folder, names[i]);
    return 0;
}
