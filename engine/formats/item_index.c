#include "item_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "crc32c.h"
#include "hash.h"
#include "read_at.h"
#include "write_at.h"

static const char magic[8] = "rueindx1";

/* The file: this, the entries, the names. */
struct header {
    char magic[8];
    uint64_t identity; /* of the shards as they were */
    uint64_t count, names_used, skipped;
    uint64_t facts[RUE_INDEX_FACTS];
    char skipped_example[RUE_INDEX_EXAMPLE_BYTES];
    uint32_t crc;        /* of entries and names */
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
    snprintf(out, bytes, "%s/.rue-index-%016" PRIx64, folder, hash);
}

static uint64_t identity_of(const struct rue_shard_set *set, const char *asked)
{
    uint64_t hash = rue_hash(RUE_HASH_START, asked, strlen(asked) + 1);
    for (size_t i = 0; i < rue_shard_set_count(set); i++) {
        const struct rue_shard_identity shard = rue_shard_set_identity(set, i);
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
        file_bytes != sizeof *header + entry_bytes + header->names_used)
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

bool rue_item_index_load(struct rue_item_index *index, const struct rue_shard_set *set, const char *asked)
{
    char path[2 * PATH_MAX];
    struct header header;
    struct stat about;
    path_of(set, asked, path, sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool good =
        fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && rue_read_at(fd, &header, sizeof header, 0) &&
        memcmp(header.magic, magic, sizeof magic) == 0 &&
        header.header_crc == rue_crc32c(0, &header, offsetof(struct header, header_crc)) &&
        header.identity == identity_of(set, asked) &&
        read_parts(index, fd, &header, (uint64_t)about.st_size) && is_sound(index, rue_shard_set_count(set));
    close(fd);
    if (!good) rue_item_index_free(index);
    return good;
}

/* Opens the file that becomes the index and locks it: what another process is writing is left alone, what one
 * left behind is written over. */
static int open_part(const char *part)
{
    struct stat mine, there;
    int fd = open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 && stat(part, &there) == 0 &&
        S_ISREG(mine.st_mode) && mine.st_ino == there.st_ino && ftruncate(fd, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

void rue_item_index_keep(const struct rue_item_index *index, const struct rue_shard_set *set,
                         const char *asked)
{
    char path[2 * PATH_MAX], part[2 * PATH_MAX + 8];
    uint64_t entry_bytes = index->count * sizeof *index->entries;
    struct header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.facts, index->facts, sizeof header.facts);
    memcpy(header.skipped_example, index->skipped_example, sizeof header.skipped_example);
    header.identity = identity_of(set, asked);
    header.count = index->count;
    header.names_used = index->names_used;
    header.skipped = index->skipped;
    header.crc = rue_crc32c(rue_crc32c(0, index->entries, entry_bytes), index->names, index->names_used);
    header.header_crc = rue_crc32c(0, &header, offsetof(struct header, header_crc));
    path_of(set, asked, path, sizeof path);
    snprintf(part, sizeof part, "%s.part", path);
    int fd = open_part(part);
    if (fd < 0) return;
    bool written =
        rue_write_at(fd, part, &header, sizeof header, 0, NULL) == RUE_OK &&
        rue_write_at(fd, part, index->entries, entry_bytes, sizeof header, NULL) == RUE_OK &&
        rue_write_at(fd, part, index->names, index->names_used, sizeof header + entry_bytes, NULL) == RUE_OK;
    if (!written || rename(part, path) != 0) unlink(part);
    close(fd);
}
