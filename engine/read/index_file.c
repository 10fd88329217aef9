#include "index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "files.h"
#include "hash.h"

static const char magic[8] = "rueindx5";

/* The file: this header, the entries, the names. */
struct header {
    char magic[8];
    uint64_t identity; /* hash of the shards' identities and of the index's */
    uint64_t count, names_used;
    uint32_t kind, mode, dtype, shape[3], compressed;
    struct rue_remarks remarks;
    uint32_t crc;        /* of entries and names */
    uint32_t header_crc; /* of the members above */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Each folder, and each pattern or file in it, has one index file. A new state of the data replaces it. */
static void find_path(const struct rue_files *files, const char *path, const char *identity, char *out,
                      size_t bytes)
{
    const char *shard = rue_files_path(files, 0), *base = base_name(shard);
    bool is_folder = strncmp(shard, path, strlen(path)) == 0 && strcmp(shard, path) != 0;
    uint64_t hash = rue_hash(RUE_HASH_START, identity, strlen(identity) + 1);
    if (!is_folder) hash = rue_hash(hash, base_name(path), strlen(base_name(path)));
    snprintf(out, bytes, "%.*s.rue-index-%016" PRIx64, (int)(base - shard), shard, hash);
}

static uint64_t index_identity(const struct rue_files *files, const char *identity)
{
    uint64_t hash = rue_hash(RUE_HASH_START, identity, strlen(identity) + 1);
    for (size_t i = 0; i < rue_files_count(files); i++) {
        const struct rue_file_identity shard = rue_files_identity(files, i);
        const char *base = base_name(rue_files_path(files, i));
        hash = rue_hash(hash, &shard, sizeof shard);
        hash = rue_hash(hash, base, strlen(base) + 1);
    }
    return hash;
}

static uint32_t index_crc(const struct rue_index *index)
{
    uint32_t crc = rue_crc32c(0, index->entries, index->count * sizeof *index->entries);
    return rue_crc32c(crc, index->names.text, index->names.used);
}

static bool read_parts(struct rue_index *index, int fd, const struct header *header, uint64_t file_bytes)
{
    uint64_t entry_bytes = header->count * sizeof *index->entries;
    if (header->count == 0 || header->count > file_bytes / sizeof *index->entries ||
        header->names_used == 0 || header->names_used > file_bytes ||
        file_bytes != sizeof *header + entry_bytes + header->names_used)
        return false;
    index->entries = malloc(entry_bytes);
    index->names.text = malloc(header->names_used);
    index->count = index->capacity = header->count;
    index->names.used = index->names.capacity = header->names_used;
    return index->entries && index->names.text &&
           rue_read_at(fd, index->entries, entry_bytes, sizeof *header) &&
           rue_read_at(fd, index->names.text, header->names_used, sizeof *header + entry_bytes) &&
           index_crc(index) == header->crc;
}

/* The checksums are right, so this only detects an index of another version of the program. */
static bool is_sound(const struct rue_index *index, const struct header *header)
{
    size_t used = index->names.used;
    bool sound = !index->names.text[used - 1] && header->mode < RUE_MODE_COUNT &&
                 header->dtype < RUE_DTYPE_COUNT &&
                 memchr(header->remarks.skipped_example, 0, RUE_EXAMPLE_BYTES) &&
                 memchr(header->remarks.note, 0, RUE_NOTE_BYTES);
    for (uint64_t i = 0; sound && i < index->count; i++)
        sound = index->entries[i].file < rue_files_count(index->files) && index->entries[i].name < used &&
                (i == 0 || index->entries[i].file >= index->entries[i - 1].file);
    return sound;
}

/* Whether the file begins with the header of an index. */
static bool read_header(int fd, struct header *header, struct stat *info)
{
    return fstat(fd, info) == 0 && S_ISREG(info->st_mode) && rue_read_at(fd, header, sizeof *header, 0) &&
           memcmp(header->magic, magic, sizeof magic) == 0 &&
           header->header_crc == rue_crc32c(0, header, offsetof(struct header, header_crc));
}

bool rue_index_file_load(struct rue_index *index, const char *path, const char *identity)
{
    char name[2 * PATH_MAX];
    struct header header;
    struct stat info;
    find_path(index->files, path, identity, name, sizeof name);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool good = read_header(fd, &header, &info) &&
                header.identity == index_identity(index->files, identity) &&
                read_parts(index, fd, &header, (uint64_t)info.st_size) && is_sound(index, &header);
    close(fd);
    if (!good) {
        free(index->entries);
        free(index->names.text);
        *index = (struct rue_index){.files = index->files};
        return false;
    }
    index->kind = (enum rue_item_kind)header.kind;
    index->mode = (enum rue_mode)header.mode;
    index->dtype = (enum rue_dtype)header.dtype;
    index->compressed = header.compressed;
    index->remarks = header.remarks;
    memcpy(index->shape, header.shape, sizeof index->shape);
    return true;
}

/* Only index files are replaced, whatever their version. */
static bool may_replace(const char *path)
{
    char found[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT;
    bool is_index = rue_read_at(fd, found, sizeof found, 0) && memcmp(found, magic, sizeof magic - 1) == 0;
    close(fd);
    return is_index;
}

static bool write_parts(int fd, const char *file, const struct rue_index *index, const struct header *header)
{
    uint64_t entry_bytes = index->count * sizeof *index->entries;
    return rue_write_at(fd, file, header, sizeof *header, 0, NULL) == RUE_OK &&
           rue_write_at(fd, file, index->entries, entry_bytes, sizeof *header, NULL) == RUE_OK &&
           rue_write_at(fd, file, index->names.text, index->names.used, sizeof *header + entry_bytes, NULL) ==
               RUE_OK;
}

/* Processes that do this at the same time write the same bytes. */
void rue_index_file_save(const struct rue_index *index, const char *path, const char *identity)
{
    char name[PATH_MAX + 64], part[PATH_MAX + 72];
    struct header header;
    find_path(index->files, path, identity, name, sizeof name);
    snprintf(part, sizeof part, "%s.part", name);
    if (!may_replace(name) || !may_replace(part)) return;
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) return;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.shape, index->shape, sizeof header.shape);
    header.remarks = index->remarks;
    header.identity = index_identity(index->files, identity);
    header.count = index->count;
    header.names_used = index->names.used;
    header.kind = index->kind;
    header.mode = index->mode;
    header.dtype = index->dtype;
    header.compressed = index->compressed;
    header.crc = index_crc(index);
    header.header_crc = rue_crc32c(0, &header, offsetof(struct header, header_crc));
    if (!write_parts(fd, part, index, &header) || rename(part, name) != 0) unlink(part);
    close(fd);
}
