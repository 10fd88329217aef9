#include "item_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "crc32c.h"
#include "hash.h"
#include "part.h"
#include "read_at.h"
#include "write_at.h"

static const char magic[8] = "rueindx2";
static const char prefix[] = ".rue-index-";

/* The file: this, the entries, the names, and what they are of: the text of what was asked and the names of
 * the shards, each with a NUL. */
struct header {
    char magic[8];
    uint64_t identity; /* of the shards as they were */
    uint64_t count, names_used, skipped;
    uint64_t of_bytes; /* 0: the shards are in several folders */
    uint64_t facts[RUE_INDEX_FACTS];
    char skipped_example[RUE_INDEX_EXAMPLE_BYTES];
    uint32_t crc; /* of entries and names */
    uint32_t of_crc;
    uint32_t of_folder;  /* the shards were all of their folder */
    uint32_t header_crc; /* of all before */
};

rue_status rue_item_index_add(struct rue_item_index *index, const struct rue_index_entry *entry,
                              const char *name, rue_error *error)
{
    static const char what[] = "the index of the data";
    size_t length = strlen(name) + 1;
    rue_status status = rue_array_grow(&index->entries, &index->capacity, index->count + 1,
                                       sizeof *index->entries, what, error);
    if (status == RUE_OK)
        status =
            rue_array_grow(&index->names, &index->names_capacity, index->names_used + length, 1, what, error);
    if (status != RUE_OK) return status;
    memcpy(index->names + index->names_used, name, length);
    index->entries[index->count] = *entry;
    index->entries[index->count++].name = index->names_used;
    index->names_used += length;
    return RUE_OK;
}

void rue_item_index_skip(struct rue_item_index *index, const char *file, const char *why)
{
    char text[PATH_MAX + 256];
    if (index->skipped++) return;
    snprintf(text, sizeof text, "%s, %s", file, why);
    rue_error_shorten(text, index->skipped_example, sizeof index->skipped_example);
}

const char *rue_item_index_name(const struct rue_item_index *index, uint64_t item)
{
    return index->names + index->entries[item].name;
}

void rue_item_index_free(struct rue_item_index *index)
{
    free(index->entries);
    free(index->names);
    *index = (struct rue_item_index){0};
}

uint64_t rue_item_index_digest(const struct rue_item_index *index)
{
    uint64_t hash = rue_hash(RUE_HASH_START, index->facts, sizeof index->facts);
    for (uint64_t i = 0; i < index->count; i++) {
        const struct rue_index_entry *entry = &index->entries[i];
        const char *name = rue_item_index_name(index, i);
        hash = rue_hash(hash, name, strlen(name) + 1);
        hash = rue_hash(hash, &entry->bytes, sizeof entry->bytes);
        hash = rue_hash(hash, &entry->label, sizeof entry->label);
    }
    return hash;
}

/* ---- the file ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void path_of(const struct rue_shard_set *set, const char *asked, char *out, size_t bytes)
{
    char folder[PATH_MAX];
    uint64_t hash = rue_hash(RUE_HASH_START, asked, strlen(asked) + 1);
    for (size_t i = 0; i < rue_shard_set_count(set); i++) {
        const char *base = base_of(rue_shard_set_path(set, i));
        hash = rue_hash(hash, base, strlen(base) + 1);
    }
    rue_shard_set_folder(set, folder);
    snprintf(out, bytes, "%s/%s%016" PRIx64, folder, prefix, hash);
}

static uint64_t identity_of(const struct rue_shard_set *set, const char *asked)
{
    uint64_t hash = rue_hash(RUE_HASH_START, asked, strlen(asked) + 1);
    for (size_t i = 0; i < rue_shard_set_count(set); i++) {
        const struct rue_file_identity shard = rue_shard_set_identity(set, i);
        const char *base = base_of(rue_shard_set_path(set, i));
        hash = rue_hash(hash, &shard, sizeof shard);
        hash = rue_hash(hash, base, strlen(base) + 1);
    }
    return hash;
}

/* What was read is what was written, so this only says whether both are of the same program. */
static bool is_sound(const struct rue_item_index *index, size_t shards)
{
    if (index->count == 0 || index->names_used == 0 || index->names[index->names_used - 1]) return false;
    for (uint64_t i = 0; i < index->count; i++) {
        const struct rue_index_entry *entry = &index->entries[i];
        if (entry->shard >= shards || entry->name >= index->names_used) return false;
    }
    return memchr(index->skipped_example, 0, sizeof index->skipped_example);
}

static bool read_parts(struct rue_item_index *index, int fd, const struct header *header, uint64_t file_bytes)
{
    uint64_t entry_bytes = header->count * sizeof *index->entries;
    if (header->count > file_bytes / sizeof *index->entries || header->names_used > file_bytes ||
        file_bytes != sizeof *header + entry_bytes + header->names_used + header->of_bytes)
        return false;
    index->entries = malloc(entry_bytes + 1);
    index->names = malloc(header->names_used + 1);
    index->count = index->capacity = header->count;
    index->names_used = index->names_capacity = header->names_used;
    index->skipped = header->skipped;
    memcpy(index->facts, header->facts, sizeof index->facts);
    memcpy(index->skipped_example, header->skipped_example, sizeof index->skipped_example);
    if (!index->entries || !index->names || !rue_read_at(fd, index->entries, entry_bytes, sizeof *header) ||
        !rue_read_at(fd, index->names, header->names_used, sizeof *header + entry_bytes))
        return false;
    uint32_t crc = rue_crc32c(rue_crc32c(0, index->entries, entry_bytes), index->names, header->names_used);
    return crc == header->crc;
}

/* Opens a file that begins with a header of ours; -1 for any other. */
static int open_header(int folder_fd, const char *path, struct header *header, struct stat *about)
{
    int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    if (fstat(fd, about) == 0 && S_ISREG(about->st_mode) && rue_read_at(fd, header, sizeof *header, 0) &&
        memcmp(header->magic, magic, sizeof magic) == 0 &&
        header->header_crc == rue_crc32c(0, header, offsetof(struct header, header_crc)))
        return fd;
    close(fd);
    return -1;
}

bool rue_item_index_load(struct rue_item_index *index, const struct rue_shard_set *set, const char *asked)
{
    char path[2 * PATH_MAX];
    struct header header;
    struct stat about;
    path_of(set, asked, path, sizeof path);
    int fd = open_header(AT_FDCWD, path, &header, &about);
    if (fd < 0) return false;
    bool good = header.identity == identity_of(set, asked) &&
                read_parts(index, fd, &header, (uint64_t)about.st_size) &&
                is_sound(index, rue_shard_set_count(set));
    close(fd);
    if (!good) rue_item_index_free(index);
    return good;
}

/* ---- what an index is of ---- */

struct text {
    char *bytes; /* NUL-terminated texts, one after the other; NULL: none */
    uint64_t used;
};

/* What was asked, and the names of the shards; none where these are in several folders. */
static struct text text_of(const struct rue_shard_set *set, const char *asked)
{
    const char *first = rue_shard_set_path(set, 0);
    size_t folder = (size_t)(base_of(first) - first);
    struct text of = {.used = strlen(asked) + 1};
    for (size_t i = 0; i < rue_shard_set_count(set); i++) {
        const char *path = rue_shard_set_path(set, i), *base = base_of(path);
        if ((size_t)(base - path) != folder || memcmp(path, first, folder) != 0) return (struct text){0};
        of.used += strlen(base) + 1;
    }
    char *at = of.bytes = malloc(of.used);
    if (!at) return (struct text){0};
    at = stpcpy(at, asked) + 1;
    for (size_t i = 0; i < rue_shard_set_count(set); i++)
        at = stpcpy(at, base_of(rue_shard_set_path(set, i))) + 1;
    return of;
}

static struct text read_text(int fd, const struct header *header, uint64_t file_bytes)
{
    struct text of = {.used = header->of_bytes};
    if (of.used == 0 || of.used > file_bytes || !(of.bytes = malloc(of.used))) return (struct text){0};
    if (rue_read_at(fd, of.bytes, of.used, file_bytes - of.used) && !of.bytes[of.used - 1] &&
        rue_crc32c(0, of.bytes, of.used) == header->of_crc)
        return of;
    free(of.bytes);
    return (struct text){0};
}

/* Whether a shard is gone or changed. What cannot be told is not. */
static bool has_changed(int folder_fd, const struct text *of, uint64_t identity)
{
    const char *at = of->bytes, *end = of->bytes + of->used;
    uint64_t hash = rue_hash(RUE_HASH_START, at, strlen(at) + 1);
    for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
        struct stat about;
        if (fstatat(folder_fd, at, &about, 0) != 0) return errno == ENOENT;
        const struct rue_file_identity shard = rue_file_identity_of(&about);
        hash = rue_hash(hash, &shard, sizeof shard);
        hash = rue_hash(hash, at, strlen(at) + 1);
    }
    return hash != identity;
}

/* Whether nobody can use the index `name` any more, now that there is one of `kept`: its shards are gone or
 * changed, or it was of all of a folder that holds others now. */
static bool is_stale(int folder_fd, const char *name, const struct text *kept, bool of_folder)
{
    struct header header;
    struct stat about;
    int fd = open_header(folder_fd, name, &header, &about);
    if (fd < 0) return false;
    struct text of = read_text(fd, &header, (uint64_t)about.st_size);
    close(fd);
    if (!of.bytes) return false;
    bool former = of_folder && header.of_folder && strcmp(of.bytes, kept->bytes) == 0;
    bool stale = former || has_changed(folder_fd, &of, header.identity);
    free(of.bytes);
    return stale;
}

/* `own` is the name of the one that was kept. */
static void remove_stale(const char *folder, const char *own, const struct text *kept, bool of_folder)
{
    DIR *open_folder = opendir(folder);
    if (!open_folder) return;
    for (struct dirent *entry; (entry = readdir(open_folder));) {
        const char *name = entry->d_name;
        if (strncmp(name, prefix, sizeof prefix - 1) == 0 && strlen(name) == sizeof prefix - 1 + 16 &&
            strcmp(name, own) != 0 && is_stale(dirfd(open_folder), name, kept, of_folder))
            unlinkat(dirfd(open_folder), name, 0);
    }
    closedir(open_folder);
}

static bool write_parts(const char *file, const struct rue_item_index *index, const struct header *header,
                        const struct text *of)
{
    uint64_t entry_bytes = index->count * sizeof *index->entries, names_at = sizeof *header + entry_bytes;
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    bool written = rue_write_at(fd, file, header, sizeof *header, 0, NULL) == RUE_OK &&
                   rue_write_at(fd, file, index->entries, entry_bytes, sizeof *header, NULL) == RUE_OK &&
                   rue_write_at(fd, file, index->names, index->names_used, names_at, NULL) == RUE_OK &&
                   rue_write_at(fd, file, of->bytes, of->used, names_at + index->names_used, NULL) == RUE_OK;
    close(fd);
    return written;
}

/* An index of any version of rue, or nothing. */
static bool may_replace(const char *path)
{
    char found[sizeof magic] = {0};
    struct stat about;
    if (lstat(path, &about) != 0) return errno == ENOENT;
    int fd = S_ISREG(about.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return false;
    bool read = rue_read_at(fd, found, sizeof found, 0);
    close(fd);
    return read && memcmp(found, magic, sizeof magic - 1) == 0;
}

void rue_item_index_keep(const struct rue_item_index *index, const struct rue_shard_set *set,
                         const char *asked)
{
    char path[2 * PATH_MAX], part[RUE_PART_BYTES], fresh[RUE_PART_BYTES + 8], folder[PATH_MAX];
    struct header header;
    path_of(set, asked, path, sizeof path);
    if (strlen(path) >= PATH_MAX || !may_replace(path)) return;
    int fd = rue_part_open(path, false, part);
    if (fd < 0) return;
    struct text of = text_of(set, asked);
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.facts, index->facts, sizeof header.facts);
    memcpy(header.skipped_example, index->skipped_example, sizeof header.skipped_example);
    header.identity = identity_of(set, asked);
    header.count = index->count;
    header.names_used = index->names_used;
    header.skipped = index->skipped;
    header.of_bytes = of.used;
    header.of_crc = rue_crc32c(0, of.bytes, of.used);
    header.of_folder = rue_shard_set_is_folder(set);
    header.crc = rue_crc32c(rue_crc32c(0, index->entries, index->count * sizeof *index->entries),
                            index->names, index->names_used);
    header.header_crc = rue_crc32c(0, &header, offsetof(struct header, header_crc));
    snprintf(fresh, sizeof fresh, "%s/data", part);
    bool kept = write_parts(fresh, index, &header, &of) && rename(fresh, path) == 0;
    close(fd);
    rue_part_remove(part);
    if (kept && of.bytes) {
        rue_shard_set_folder(set, folder);
        remove_stale(folder, base_of(path), &of, rue_shard_set_is_folder(set));
    }
    free(of.bytes);
}
