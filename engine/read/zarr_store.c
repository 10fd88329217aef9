#include "zarr_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "chunk_cache.h"
#include "crc32c.h"
#include "file_io.h"
#include "hash.h"
#include "machine.h"

enum { NAME_BYTES = 192, VIEWS_MAX = 16384 };
static const double cache_least_bytes = 256 << 20, cached_blocks = 16;
static const uint64_t index_key = UINT64_C(1) << 63; /* marks the index of a shard in the cache */

/* A file of chunks. */
struct file {
    uint64_t bytes, identity; /* identity 0: the file is missing */
    size_t name;              /* offset in `names` */
    _Atomic(char *) view;     /* the mapped file; NULL: not mapped */
};

struct rue_zarr {
    struct rue_zarr_array array;
    int folder_fd;                 /* borrowed */
    char folder[PATH_MAX];         /* its path, for messages */
    char path[PATH_MAX + 128];     /* of the array, for messages */
    uint64_t files[RUE_ZARR_AXES]; /* number of files along each axis */
    uint64_t grid[RUE_ZARR_AXES];  /* number of chunks */
    uint64_t chunks_of_file;
    struct file *file; /* [file_count] */
    uint64_t file_count;
    struct rue_name_pool names;
    uint64_t digest, stored_bytes, cache_bytes;
    uint64_t missing; /* chunks */
    char first_missing[NAME_BYTES + 32];
    bool direct; /* an item lies in one chunk as its bytes are */
    struct rue_chunk_cache *cache;
};

/* A chunk: its file, and its number in it. */
struct place {
    uint64_t file, number;
};

/* ---- files ---- */

static uint64_t identify(const struct stat *info)
{
    struct rue_file_identity identity = rue_file_identity_read(info);
    identity.touched_ns = 0;
    return rue_hash(RUE_HASH_START, &identity, sizeof identity) | 1;
}

static const char *file_name(const struct rue_zarr *zarr, const struct file *file)
{
    return zarr->names.text + file->name;
}

static rue_status fail_chunk(const struct rue_zarr *zarr, const struct file *file, const char *why,
                             rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s/%s %s; make it again", zarr->folder, file_name(zarr, file), why);
}

/* Opens a file, which must be the one of the opening. */
static rue_status open_unchanged(const struct rue_zarr *zarr, const struct file *file, int *out,
                                 rue_error *error)
{
    struct stat info;
    int fd = *out = rue_zarr_open_file(zarr->folder_fd, file_name(zarr, file));
    if (fd < 0 && errno == ENOENT) return fail_chunk(zarr, file, "was deleted since it was opened", error);
    if (fd < 0) return rue_zarr_fail_file(error, zarr->folder, file_name(zarr, file));
    if (fstat(fd, &info) == 0 && identify(&info) == file->identity) return RUE_OK;
    close(fd);
    return fail_chunk(zarr, file, "has changed since it was opened", error);
}

static rue_status read_file(const struct rue_zarr *zarr, const struct file *file, uint64_t offset,
                            uint64_t bytes, void *into, rue_error *error)
{
    int fd;
    if (offset > file->bytes || bytes > file->bytes - offset)
        return fail_chunk(zarr, file, "is truncated", error);
    rue_status status = open_unchanged(zarr, file, &fd, error);
    if (status != RUE_OK) return status;
    if (!rue_read_at(fd, into, bytes, offset))
        status = rue_zarr_fail_file(error, zarr->folder, file_name(zarr, file));
    close(fd);
    return status;
}

static uint64_t index_bytes(const struct rue_zarr *zarr)
{
    return zarr->chunks_of_file * 2 * sizeof(uint64_t) + (zarr->array.index_checksum ? sizeof(uint32_t) : 0);
}

/* Loads the index of a shard: offset and size of each chunk. */
static rue_status load_index(const void *context, uint64_t key, void *into, uint64_t bytes, rue_error *error)
{
    const struct rue_zarr *zarr = context;
    const struct file *file = &zarr->file[key & ~index_key];
    uint32_t recorded;
    if (bytes > file->bytes) return fail_chunk(zarr, file, "is shorter than its index", error);
    uint64_t begin = zarr->array.index_first ? 0 : file->bytes - bytes;
    rue_status status = read_file(zarr, file, begin, bytes, into, error);
    if (status != RUE_OK || !zarr->array.index_checksum) return status;
    bytes -= sizeof recorded;
    memcpy(&recorded, (char *)into + bytes, sizeof recorded);
    if (rue_crc32c(0, into, bytes) == recorded) return RUE_OK;
    return fail_chunk(zarr, file, "has a damaged index (its CRC-32C is wrong)", error);
}

/* ---- opening ---- */

static rue_status add_name(struct rue_zarr *zarr, const char *name, rue_error *error)
{
    struct rue_name_pool *pool = &zarr->names;
    size_t bytes = strlen(name) + 1;
    rue_status status =
        rue_array_grow(&pool->text, &pool->capacity, pool->used + bytes, 1, "the names of chunks", error);
    if (status != RUE_OK) return status;
    memcpy(pool->text + pool->used, name, bytes);
    pool->used += bytes;
    return RUE_OK;
}

/* The numbers along the axes of the one with this number, of so many on each axis. */
static void split_number(const uint64_t counts[RUE_ZARR_AXES], uint64_t number, uint64_t at[RUE_ZARR_AXES])
{
    for (int axis = RUE_ZARR_AXES - 1; axis >= 0; number /= counts[axis--]) at[axis] = number % counts[axis];
}

/* Notes size and identity of the file `number`. */
static rue_status add_file(struct rue_zarr *zarr, const char *prefix, uint64_t number, rue_error *error)
{
    struct file *file = &zarr->file[number];
    char name[NAME_BYTES];
    uint64_t at[RUE_ZARR_AXES];
    split_number(zarr->files, number, at);
    size_t used = (size_t)snprintf(name, sizeof name, "%s", prefix);
    rue_zarr_file_name(&zarr->array, at, name + used, sizeof name - used);
    file->name = zarr->names.used;
    const char *previous = number ? zarr->names.text + zarr->file[number - 1].name : "";
    rue_status status = rue_zarr_refuse_links(zarr->folder_fd, zarr->folder, name, previous, error);
    if (status == RUE_OK) status = add_name(zarr, name, error);
    if (status != RUE_OK) return status;
    struct stat info;
    if (fstatat(zarr->folder_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT && errno != ENOTDIR) return rue_zarr_fail_file(error, zarr->folder, name);
        zarr->digest = rue_hash(zarr->digest, "", 1);
        return RUE_OK;
    }
    if (S_ISLNK(info.st_mode)) return errno = ELOOP, rue_zarr_fail_file(error, zarr->folder, name);
    if (!S_ISREG(info.st_mode)) return rue_fail(error, RUE_DATA, "%s/%s is not a file", zarr->folder, name);
    file->bytes = (uint64_t)info.st_size;
    file->identity = identify(&info);
    zarr->stored_bytes += file->bytes;
    zarr->digest = rue_hash(zarr->digest, &file->bytes, sizeof file->bytes);
    return RUE_OK;
}

static rue_status add_files(struct rue_zarr *zarr, const char *prefix,
                            const struct rue_source_options *options, rue_error *error)
{
    zarr->file = calloc(zarr->file_count, sizeof *zarr->file);
    if (!zarr->file)
        return rue_fail_memory(error, "the files of chunks", zarr->file_count * sizeof *zarr->file);
    rue_status status = RUE_OK;
    for (uint64_t i = 0; status == RUE_OK && i < zarr->file_count; i++) {
        status = rue_source_check_stop(options, error);
        if (status == RUE_OK) status = add_file(zarr, prefix, i, error);
    }
    return status;
}

static rue_status measure_grid(struct rue_zarr *zarr, rue_error *error)
{
    const struct rue_zarr_array *array = &zarr->array;
    double files = 1, values = 1, chunks = 1; /* they never wrap, and are exact up to the limits */
    zarr->direct = array->rank > 1 && array->codec == RUE_ZARR_NONE && !array->checksums;
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++) {
        zarr->grid[axis] = (array->shape[axis] + array->chunk[axis] - 1) / array->chunk[axis];
        zarr->files[axis] = (array->shape[axis] + array->file[axis] - 1) / array->file[axis];
        files *= (double)zarr->files[axis];
        chunks *= (double)(array->file[axis] / array->chunk[axis]);
        if (axis) values *= (double)array->shape[axis];
        if (axis) zarr->direct &= array->chunk[axis] == array->shape[axis];
    }
    if (files > RUE_ZARR_FILES_MAX)
        return rue_fail(
            error, RUE_DATA,
            "%s has %.3g files of chunks, and the limit is %d: make larger chunks, or put them into "
            "shards",
            zarr->path, files, RUE_ZARR_FILES_MAX);
    if (values > 1 << 30 || chunks > 1 << 20 || values * (double)array->shape[0] > 0x1p56)
        return rue_fail(
            error, RUE_DATA,
            "%s has more than 2^56 values, items of more than 2^30, or shards of more than 2^20 chunks",
            zarr->path);
    zarr->file_count = (uint64_t)files;
    zarr->chunks_of_file = (uint64_t)chunks;
    return RUE_OK;
}

static rue_status open_cache(struct rue_zarr *zarr, rue_error *error)
{
    double row = (double)zarr->array.chunk_bytes; /* the chunks of an item */
    for (int axis = 1; axis < RUE_ZARR_AXES; axis++) row *= (double)zarr->grid[axis];
    double capacity = fmax(cached_blocks * row, cache_least_bytes);
    capacity = fmin(capacity, (double)rue_machine_read().memory_bytes / 4);
    double whole = zarr->direct ? 0 : row * (double)zarr->grid[0];
    if (zarr->array.sharded) whole += (double)index_bytes(zarr) * (double)zarr->file_count;
    zarr->cache_bytes = (uint64_t)fmin(capacity, whole);
    return rue_chunk_cache_open((uint64_t)capacity, &zarr->cache, error);
}

/* Counts the missing chunks of a file. `index`: of a shard; NULL: the file is missing. */
static void count_in_file(struct rue_zarr *zarr, uint64_t number, const uint64_t *index)
{
    uint64_t at[RUE_ZARR_AXES], per_file[RUE_ZARR_AXES], left[RUE_ZARR_AXES], chunks = 1;
    const char *name = file_name(zarr, &zarr->file[number]);
    size_t room = zarr->missing ? 0 : sizeof zarr->first_missing;
    split_number(zarr->files, number, at);
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++) {
        per_file[axis] = zarr->array.file[axis] / zarr->array.chunk[axis];
        left[axis] = zarr->grid[axis] - at[axis] * per_file[axis];
        chunks *= left[axis] < per_file[axis] ? left[axis] : per_file[axis];
    }
    if (!index) snprintf(zarr->first_missing, room, "%s", name), zarr->missing += chunks;
    for (uint64_t i = 0; index && i < zarr->chunks_of_file; i++) {
        bool missing = index[2 * i] == UINT64_MAX && index[2 * i + 1] == UINT64_MAX;
        split_number(per_file, i, at); /* chunks after the end of the array are not missing */
        for (int axis = 0; axis < RUE_ZARR_AXES; axis++) missing &= at[axis] < left[axis];
        if (missing && zarr->missing++ == 0)
            snprintf(zarr->first_missing, room, "chunk %" PRIu64 " of %s", i, name);
    }
}

/* Reads the index of each shard. */
static rue_status count_missing(struct rue_zarr *zarr, const struct rue_source_options *options,
                                rue_error *error)
{
    uint64_t bytes = index_bytes(zarr);
    uint64_t *index = malloc(bytes);
    if (!index) return rue_fail_memory(error, "the index of a shard", bytes);
    rue_status status = RUE_OK;
    for (uint64_t i = 0; status == RUE_OK && i < zarr->file_count; i++) {
        status = rue_source_check_stop(options, error);
        if (!zarr->file[i].identity)
            count_in_file(zarr, i, NULL);
        else if (zarr->array.sharded && load_index(zarr, i | index_key, index, bytes, NULL) == RUE_OK)
            count_in_file(zarr, i, index);
    }
    free(index);
    return status;
}

/* Refuses an array without any file whose files have names with the other separator. */
static rue_status refuse_separator(const struct rue_zarr *zarr, size_t prefix_bytes, rue_error *error)
{
    char other[NAME_BYTES], separator = zarr->array.separator == '/' ? '.' : '/';
    for (uint64_t i = 0; !zarr->stored_bytes && i < zarr->file_count; i++) {
        const char *name = file_name(zarr, &zarr->file[i]);
        snprintf(other, sizeof other, "%s", name);
        for (char *at = other + prefix_bytes; (at = strchr(at, zarr->array.separator));) *at = separator;
        if (strcmp(name, other) != 0 && faccessat(zarr->folder_fd, other, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return rue_fail(error, RUE_DATA,
                            "%s has no chunks such as %s, but %s: set dimension_separator (in version 3, "
                            "separator) to '%c' in its metadata",
                            zarr->path, name, other, separator);
    }
    return RUE_OK;
}

rue_status rue_zarr_open(int folder_fd, const char *path, const char *name,
                         const struct rue_zarr_array *array, const struct rue_source_options *options,
                         struct rue_zarr **out, rue_error *error)
{
    struct rue_zarr *zarr = calloc(1, sizeof *zarr);
    if (!zarr) return rue_fail_memory(error, "a Zarr array", sizeof *zarr);
    zarr->array = *array;
    zarr->digest = array->digest;
    zarr->folder_fd = folder_fd;
    snprintf(zarr->folder, sizeof zarr->folder, "%s", path);
    int length = (int)strlen(name);
    snprintf(zarr->path, sizeof zarr->path, "%s%s%.*s", path, length ? "/" : "", length ? length - 1 : 0,
             name);
    rue_status status = measure_grid(zarr, error);
    if (status == RUE_OK) status = add_files(zarr, name, options, error);
    if (status == RUE_OK) status = refuse_separator(zarr, strlen(name), error);
    if (status == RUE_OK) status = open_cache(zarr, error);
    if (status == RUE_OK) status = count_missing(zarr, options, error);
    if (status != RUE_OK) return rue_zarr_close(zarr), status;
    *out = zarr;
    return RUE_OK;
}

void rue_zarr_drop_views(const struct rue_zarr *zarr)
{
    for (uint64_t i = 0; zarr->file && i < zarr->file_count; i++) {
        char *view = atomic_exchange(&zarr->file[i].view, NULL);
        if (view) munmap(view, zarr->file[i].bytes);
    }
}

void rue_zarr_close(struct rue_zarr *zarr)
{
    if (!zarr) return;
    rue_zarr_drop_views(zarr);
    rue_chunk_cache_close(zarr->cache);
    free(zarr->file);
    free(zarr->names.text);
    free(zarr);
}

const struct rue_zarr_array *rue_zarr_array(const struct rue_zarr *zarr)
{
    return &zarr->array;
}

const char *rue_zarr_path(const struct rue_zarr *zarr)
{
    return zarr->path;
}

uint64_t rue_zarr_item_bytes(const struct rue_zarr *zarr)
{
    const uint64_t *shape = zarr->array.shape;
    return shape[1] * shape[2] * shape[3] * zarr->array.value_bytes;
}

uint64_t rue_zarr_stored_bytes(const struct rue_zarr *zarr)
{
    return zarr->stored_bytes;
}

uint64_t rue_zarr_digest(const struct rue_zarr *zarr)
{
    return zarr->digest;
}

uint64_t rue_zarr_missing(const struct rue_zarr *zarr, uint64_t *chunks, const char **example)
{
    *chunks = 1;
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++) *chunks *= zarr->grid[axis];
    *example = zarr->first_missing;
    return zarr->missing;
}

uint64_t rue_zarr_cache_bytes(const struct rue_zarr *zarr)
{
    return zarr->cache_bytes;
}

/* ---- chunks ---- */

/* Sets `*offset` and `*bytes` of a chunk in its file; `*bytes` 0: it is missing. */
static rue_status locate_chunk(const struct rue_zarr *zarr, struct place at, uint64_t *offset,
                               uint64_t *bytes, rue_error *error)
{
    const struct file *file = &zarr->file[at.file];
    struct rue_chunk *index;
    uint64_t entry[2];
    *offset = 0;
    *bytes = file->identity ? file->bytes : 0;
    if (file->identity && *bytes == 0) return fail_chunk(zarr, file, "is empty", error);
    if (!zarr->array.sharded || *bytes == 0) return RUE_OK;
    const struct rue_chunk_request request = {at.file | index_key, index_bytes(zarr), UINT64_MAX, load_index,
                                              zarr};
    rue_status status = rue_chunk_cache_acquire(zarr->cache, &request, &index, error);
    if (status != RUE_OK) return status;
    memcpy(entry, (const char *)rue_chunk_bytes(index) + at.number * sizeof entry, sizeof entry);
    rue_chunk_cache_release(zarr->cache, index);
    *offset = entry[0];
    *bytes = entry[1];
    if (entry[0] == UINT64_MAX && entry[1] == UINT64_MAX)
        *bytes = 0;
    else if (entry[1] == 0 || entry[0] > file->bytes || entry[1] > file->bytes - entry[0])
        return fail_chunk(zarr, file, "has an index with chunks outside of it", error);
    return RUE_OK;
}

static void fill(const struct rue_zarr *zarr, void *into, uint64_t bytes)
{
    unsigned width = zarr->array.value_bytes;
    for (uint64_t i = 0; i < bytes; i += width) memcpy((char *)into + i, zarr->array.fill, width);
}

static struct place split_key(const struct rue_zarr *zarr, uint64_t key)
{
    return (struct place){key / zarr->chunks_of_file, key % zarr->chunks_of_file};
}

static rue_status load_chunk(const void *context, uint64_t key, void *into, uint64_t bytes, rue_error *error)
{
    const struct rue_zarr *zarr = context;
    const struct place at = split_key(zarr, key);
    const struct file *file = &zarr->file[at.file];
    uint64_t offset, stored;
    rue_status status = locate_chunk(zarr, at, &offset, &stored, error);
    if (status != RUE_OK) return status;
    if (!stored) return fill(zarr, into, bytes), RUE_OK;
    if (zarr->array.codec == RUE_ZARR_NONE && !zarr->array.checksums) {
        if (stored != bytes)
            return fail_chunk(zarr, file, "does not have the bytes that its shape needs", error);
        return read_file(zarr, file, offset, bytes, into, error);
    }
    if (stored > 2 * bytes + (1 << 20))
        return fail_chunk(zarr, file, "is larger than a compressed chunk can be", error);
    void *packed = malloc(stored);
    if (!packed) return rue_fail_memory(error, "a compressed chunk", stored);
    status = read_file(zarr, file, offset, stored, packed, error);
    if (status == RUE_OK) {
        const char *why = rue_zarr_decode(&zarr->array, packed, stored, into);
        if (why) status = fail_chunk(zarr, file, why, error);
    }
    free(packed);
    return status;
}

/* The chunk at these numbers along the axes. */
static struct place place_chunk(const struct rue_zarr *zarr, const uint64_t at[RUE_ZARR_AXES])
{
    struct place place = {0};
    for (int axis = 0; axis < RUE_ZARR_AXES; axis++) {
        uint64_t per_file = zarr->array.file[axis] / zarr->array.chunk[axis];
        place.file = place.file * zarr->files[axis] + at[axis] / per_file;
        place.number = place.number * per_file + at[axis] % per_file;
    }
    return place;
}

/* Copies what a chunk holds of the item. */
static void copy_part(const struct rue_zarr *zarr, const uint64_t at[RUE_ZARR_AXES], uint64_t row,
                      const char *chunk, char *into)
{
    const uint64_t *shape = zarr->array.shape, *size = zarr->array.chunk;
    uint64_t width = zarr->array.value_bytes, first[RUE_ZARR_AXES], count[RUE_ZARR_AXES];
    for (int axis = 1; axis < RUE_ZARR_AXES; axis++) {
        first[axis] = at[axis] * size[axis];
        count[axis] = shape[axis] - first[axis] < size[axis] ? shape[axis] - first[axis] : size[axis];
    }
    chunk += row * size[1] * size[2] * size[3] * width;
    bool rows = size[3] == shape[3], planes = rows && size[2] == shape[2];
    if (planes) { /* whole planes, then whole rows, follow each other on both sides */
        memcpy(into + first[1] * shape[2] * shape[3] * width, chunk, count[1] * shape[2] * shape[3] * width);
        return;
    }
    for (uint64_t c = 0; c < count[1]; c++) {
        char *plane = into + ((first[1] + c) * shape[2] + first[2]) * shape[3] * width;
        const char *from = chunk + c * size[2] * size[3] * width;
        if (rows) memcpy(plane, from, count[2] * shape[3] * width);
        for (uint64_t h = 0; !rows && h < count[2]; h++)
            memcpy(plane + (h * shape[3] + first[3]) * width, from + h * size[3] * width, count[3] * width);
    }
}

/* Reads an item of uncompressed chunks from its place. */
static rue_status read_direct(const struct rue_zarr *zarr, struct place at, uint64_t row, void *into,
                              rue_error *error)
{
    uint64_t item_bytes = rue_zarr_item_bytes(zarr), offset, stored;
    rue_status status = locate_chunk(zarr, at, &offset, &stored, error);
    if (status != RUE_OK) return status;
    if (!stored) return fill(zarr, into, item_bytes), RUE_OK;
    if (stored != zarr->array.chunk_bytes)
        return fail_chunk(zarr, &zarr->file[at.file], "does not have the bytes that its shape needs", error);
    return read_file(zarr, &zarr->file[at.file], offset + row * item_bytes, item_bytes, into, error);
}

static uint64_t chunk_key(const struct rue_zarr *zarr, const uint64_t at[RUE_ZARR_AXES])
{
    struct place place = place_chunk(zarr, at);
    return place.file * zarr->chunks_of_file + place.number;
}

/* A request of the chunks of an item, without a key. Each of their items is one use. */
static struct rue_chunk_request make_request(const struct rue_zarr *zarr, uint64_t item)
{
    const struct rue_zarr_array *array = &zarr->array;
    uint64_t items = array->shape[0] - item / array->chunk[0] * array->chunk[0];
    return (struct rue_chunk_request){.bytes = array->chunk_bytes,
                                      .uses = items < array->chunk[0] ? items : array->chunk[0],
                                      .load = load_chunk,
                                      .context = zarr};
}

bool rue_zarr_prepare(const struct rue_zarr *zarr, uint64_t item)
{
    uint64_t at[RUE_ZARR_AXES] = {item / zarr->array.chunk[0]};
    struct rue_chunk_request request = make_request(zarr, item);
    bool busy = false;
    if (zarr->direct) return false;
    for (at[1] = 0; at[1] < zarr->grid[1]; at[1]++)
        for (at[2] = 0; at[2] < zarr->grid[2]; at[2]++)
            for (at[3] = 0; at[3] < zarr->grid[3]; at[3]++) {
                request.key = chunk_key(zarr, at);
                busy |= rue_chunk_cache_prepare(zarr->cache, &request);
            }
    return busy;
}

rue_status rue_zarr_read(const struct rue_zarr *zarr, uint64_t item, void *into, rue_error *error)
{
    const struct rue_zarr_array *array = &zarr->array;
    uint64_t at[RUE_ZARR_AXES] = {item / array->chunk[0]}, row = item % array->chunk[0];
    if (zarr->direct) return read_direct(zarr, place_chunk(zarr, at), row, into, error);
    struct rue_chunk_request request = make_request(zarr, item);
    for (at[1] = 0; at[1] < zarr->grid[1]; at[1]++)
        for (at[2] = 0; at[2] < zarr->grid[2]; at[2]++)
            for (at[3] = 0; at[3] < zarr->grid[3]; at[3]++) {
                struct rue_chunk *chunk;
                request.key = chunk_key(zarr, at);
                rue_status status = rue_chunk_cache_acquire(zarr->cache, &request, &chunk, error);
                if (status != RUE_OK) return status;
                copy_part(zarr, at, row, rue_chunk_bytes(chunk), into);
                rue_chunk_cache_release(zarr->cache, chunk);
            }
    return RUE_OK;
}

void rue_zarr_trim(const struct rue_zarr *zarr)
{
    rue_chunk_cache_trim(zarr->cache);
}

bool rue_zarr_place(const struct rue_zarr *zarr, uint64_t item, struct rue_place *out)
{
    const uint64_t at[RUE_ZARR_AXES] = {item / zarr->array.chunk[0]};
    const struct file *file = &zarr->file[place_chunk(zarr, at).file];
    *out = (struct rue_place){.fd = zarr->folder_fd, .path = file_name(zarr, file), .bytes = file->bytes};
    return zarr->files[1] * zarr->files[2] * zarr->files[3] == 1 && file->identity;
}

/* ---- views ---- */

/* Maps the file, and fills its page tables now. The second of two threads removes its own mapping. */
static rue_status map_file(const struct rue_zarr *zarr, struct file *file, bool *cached, rue_error *error)
{
    int fd;
    uint64_t bytes = 0;
    rue_status status = open_unchanged(zarr, file, &fd, error);
    if (status != RUE_OK) return status;
    *cached = rue_page_cache_count(fd, 0, file->bytes, &bytes) && bytes == file->bytes;
    char *none = NULL, *view = mmap(NULL, file->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE * *cached, fd, 0);
    if (view == MAP_FAILED) status = rue_zarr_fail_file(error, zarr->folder, file_name(zarr, file));
    close(fd);
    if (status == RUE_OK && !atomic_compare_exchange_strong(&file->view, &none, view))
        munmap(view, file->bytes);
    return status;
}

bool rue_zarr_allows_views(const struct rue_zarr *zarr)
{
    struct rlimit limit;
    bool cached = zarr->direct && !zarr->array.sharded && !zarr->missing && zarr->file_count <= VIEWS_MAX;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return false;
    for (uint64_t i = 0; cached && i < zarr->file_count; i++) {
        struct file *file = &zarr->file[i];
        if (file->bytes != zarr->array.chunk_bytes) return false;
        unsigned char resident = 1; /* the first page of each file is a sample */
        if (file->view ? mincore(file->view, 1, &resident) != 0
                       : map_file(zarr, file, &cached, NULL) != RUE_OK)
            return false;
        cached &= resident & 1;
    }
    return cached;
}

rue_status rue_zarr_view(const struct rue_zarr *zarr, uint64_t item, const void **out, rue_error *error)
{
    const uint64_t at[RUE_ZARR_AXES] = {item / zarr->array.chunk[0]};
    struct file *file = &zarr->file[place_chunk(zarr, at).file];
    struct stat info;
    bool cached;
    rue_status status = file->view ? RUE_OK : map_file(zarr, file, &cached, error);
    if (status != RUE_OK) return status;
    if (fstatat(zarr->folder_fd, file_name(zarr, file), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        identify(&info) != file->identity) {
        int fd; /* says what happened to it */
        status = open_unchanged(zarr, file, &fd, error);
        if (status != RUE_OK) return status;
        close(fd);
    }
    *out = file->view + item % zarr->array.chunk[0] * rue_zarr_item_bytes(zarr);
    return RUE_OK;
}
