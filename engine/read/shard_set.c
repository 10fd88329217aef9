#include "shard_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "read_at.h"
#include "shard_pattern.h"
#include "shard_split.h"
#include "source_failure.h"

enum { KEPT_MAX = 1024 };

struct shard {
    char *path;
    struct rue_file_identity identity;
    atomic_int fd; /* kept open; -1 */
};

struct rue_shard_set {
    struct shard *shards;
    size_t count, capacity;
    atomic_int room; /* descriptors that may still be kept */
    bool is_folder;
};

static rue_status fail_open(const char *path, rue_error *error)
{
    int why = errno;
    return rue_fail(error, rue_source_failure(why), "cannot open %s: %s%s", path, strerror(why),
                    rue_advice_or(why, "; give a file, a folder of shards or a pattern of them"));
}

/* O_NONBLOCK keeps a FIFO in a file's place from blocking. */
static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static rue_status add_shard(void *context, const char *path, rue_error *error)
{
    struct rue_shard_set *set = context;
    struct stat about;
    if (stat(path, &about) != 0) return fail_open(path, error);
    if (!S_ISREG(about.st_mode))
        return rue_fail(error, RUE_DATA, "%s is no regular file: give a file or a folder of shards", path);
    if (access(path, R_OK) != 0) return fail_open(path, error);
    rue_status status = rue_array_grow(&set->shards, &set->capacity, set->count + 1, sizeof *set->shards,
                                       "the list of shards", error);
    if (status != RUE_OK) return status;
    struct shard *shard = &set->shards[set->count];
    *shard = (struct shard){.path = strdup(path), .identity = rue_file_identity_of(&about)};
    atomic_init(&shard->fd, -1);
    if (!shard->path) return rue_fail_memory(error, "the list of shards", strlen(path));
    set->count++;
    return RUE_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct shard *)a)->path, ((const struct shard *)b)->path);
}

/* Whoever names a folder of training and validation data means one of them. */
static rue_status refuse_splits(const struct rue_shard_set *set, const char *folder, rue_error *error)
{
    const char *first = NULL, *other = NULL;
    size_t begin = 0, end = 0, count = 0;
    char pattern[2 * PATH_MAX];
    for (size_t i = 0; i < set->count; i++) {
        const char *split = rue_shard_split(set->shards[i].path);
        if (!split) continue;
        if (!first) begin = i, first = split;
        if (split == first) end = i, count++;
        if (split != first && !other) other = split;
    }
    if (!other) return RUE_OK;
    rue_shard_split_pattern(set->shards[begin].path, set->shards[end].path, count, pattern);
    return rue_fail(error, RUE_DATA,
                    "%s holds shards of %s and of %s, by their names: name those of one split, such as '%s'",
                    folder, first, other, pattern);
}

static rue_status add_folder(struct rue_shard_set *set, const char *path, bool (*takes)(const char *name),
                             rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder) return fail_open(path, error);
    rue_status status = RUE_OK;
    size_t length = strlen(path), others = 0;
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    char name[PATH_MAX];
    for (struct dirent *entry; status == RUE_OK && (entry = readdir(folder));) {
        bool hidden = entry->d_name[0] == '.';
        others += !hidden;
        if (hidden || !takes(entry->d_name)) continue;
        if ((size_t)snprintf(name, sizeof name, "%s%s%s", path, slash, entry->d_name) >= sizeof name)
            status = rue_fail(error, RUE_DATA, "the path %s/%s is too long", path, entry->d_name);
        else
            status = add_shard(set, name, error);
    }
    closedir(folder);
    if (status == RUE_OK && set->count == 0)
        return rue_fail(error, RUE_DATA,
                        "%s holds no shard of this format among %zu: give a folder of shards", path, others);
    if (status != RUE_OK) return status;
    qsort(set->shards, set->count, sizeof *set->shards, by_path);
    return refuse_splits(set, path, error);
}

bool rue_shard_set_is_pattern(const char *path)
{
    struct stat about;
    return strchr(path, '{') && lstat(path, &about) != 0;
}

/* Several sets may be open, and most descriptors are for others: workers' files, sockets, libraries. */
static int most_kept(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 16 > KEPT_MAX) return KEPT_MAX;
    return (int)(limit.rlim_cur / 16);
}

rue_status rue_shard_set_open(const char *path, bool (*takes)(const char *name), struct rue_shard_set **out,
                              rue_error *error)
{
    struct stat about;
    struct rue_shard_set *set = calloc(1, sizeof *set);
    if (!set) return rue_fail_memory(error, "a set of shards", sizeof *set);
    atomic_init(&set->room, most_kept());
    rue_status status;
    if (rue_shard_set_is_pattern(path))
        status = rue_shard_pattern_expand(path, add_shard, set, error);
    else if (stat(path, &about) == 0 && (set->is_folder = S_ISDIR(about.st_mode)))
        status = add_folder(set, path, takes, error);
    else
        status = add_shard(set, path, error);
    if (status != RUE_OK) return rue_shard_set_close(set), status;
    *out = set;
    return RUE_OK;
}

void rue_shard_set_close(struct rue_shard_set *set)
{
    if (!set) return;
    for (size_t i = 0; i < set->count; i++) {
        if (set->shards[i].fd >= 0) close(set->shards[i].fd);
        free(set->shards[i].path);
    }
    free(set->shards);
    free(set);
}

bool rue_shard_set_is_folder(const struct rue_shard_set *set)
{
    return set->is_folder;
}

size_t rue_shard_set_count(const struct rue_shard_set *set)
{
    return set->count;
}

const char *rue_shard_set_path(const struct rue_shard_set *set, size_t shard)
{
    return set->shards[shard].path;
}

struct rue_file_identity rue_shard_set_identity(const struct rue_shard_set *set, size_t shard)
{
    return set->shards[shard].identity;
}

void rue_shard_set_folder(const struct rue_shard_set *set, char *out)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", set->shards[0].path);
    snprintf(out, PATH_MAX, "%s", dirname(path));
}

/* Keeps what was opened where there is room; whoever comes second closes his own at the end. */
static bool keep(struct rue_shard_set *set, struct shard *shard, int fd)
{
    int none = -1;
    if (atomic_fetch_sub(&set->room, 1) > 0 && atomic_compare_exchange_strong(&shard->fd, &none, fd))
        return true;
    atomic_fetch_add(&set->room, 1);
    return false;
}

static rue_status check(const struct shard *shard, int fd, uint64_t offset, rue_error *error)
{
    struct stat about;
    if (fstat(fd, &about) != 0) return fail_open(shard->path, error);
    const char *what = rue_file_identity_change(&shard->identity, &about);
    if (!what) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "cannot read %s at byte %" PRIu64
                    ": it %s since it was opened; leave the data alone while rue runs",
                    shard->path, offset, what);
}

static rue_status read_from(const struct shard *shard, int fd, void *into, uint64_t bytes, uint64_t offset,
                            rue_error *error)
{
    rue_status status = check(shard, fd, offset, error);
    if (status != RUE_OK || rue_read_at(fd, into, bytes, offset)) return status;
    int why = errno;
    return rue_fail(error, rue_source_failure(why), "cannot read %s at byte %" PRIu64 ": %s%s", shard->path,
                    offset, why ? strerror(why) : "the file ends", rue_advice(why));
}

rue_status rue_shard_set_read(struct rue_shard_set *set, size_t shard, void *into, uint64_t bytes,
                              uint64_t offset, rue_error *error)
{
    struct shard *file = &set->shards[shard];
    int kept = file->fd;
    if (kept >= 0) return read_from(file, kept, into, bytes, offset, error);
    int fd = open_file(file->path);
    if (fd < 0 && errno == ENOENT)
        return rue_fail(error, RUE_DATA,
                        "cannot read %s at byte %" PRIu64
                        ": it was deleted since it was opened; leave the data alone while rue runs",
                        file->path, offset);
    if (fd < 0) return fail_open(file->path, error);
    rue_status status = read_from(file, fd, into, bytes, offset, error);
    if (status != RUE_OK || !keep(set, file, fd)) close(fd);
    return status;
}
