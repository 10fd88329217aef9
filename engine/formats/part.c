#include "part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write_at.h"

enum { TRIES_MAX = 100 };
static const char mark[] = ".part-", unique[] = "XXXXXX";

/* Removes the files of the folder at `path`; where it meets a folder, it puts its name behind the path and
 * stops. Returns how many it removed, -1 where it cannot go on. */
static int clear_folder(char path[RUE_PART_BYTES])
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), removed = 0;
    _Alignas(struct dirent64) char entries[4096];
    ssize_t got = -1;
    size_t length = strlen(path);
    while (fd >= 0 && (got = getdents64(fd, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            if (unlinkat(fd, entry->d_name, 0) == 0) {
                removed++;
                continue;
            }
            bool deeper = errno == EISDIR && length + 1 + strlen(entry->d_name) < RUE_PART_BYTES;
            if (deeper) snprintf(path + length, RUE_PART_BYTES - length, "/%s", entry->d_name);
            close(fd);
            return deeper ? removed : -1;
        }
    if (fd >= 0) close(fd);
    return got < 0 ? -1 : removed;
}

void rue_part_remove(const char *name)
{
    /* One descriptor at a time and no allocation, as either may be what ran out. */
    char path[RUE_PART_BYTES];
    size_t root = (size_t)snprintf(path, sizeof path, "%s", name);
    if (!name[0] || unlink(name) == 0 || errno != EISDIR) return;
    for (;;) {
        size_t length = strlen(path);
        int removed = clear_folder(path);
        if (removed < 0) return;
        if (path[length]) continue;
        if (rmdir(path) == 0) {
            if (length == root) return;
            *strrchr(path, '/') = 0;
        } else if (errno != ENOTEMPTY || !removed) {
            return;
        }
    }
}

/* How much of the path stands in the temporary name: the last part of a name has a limit. */
static int kept_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t most = NAME_MAX - strlen(mark) - strlen(unique), length = strlen(base);
    return (int)((size_t)(base - path) + (length < most ? length : most));
}

/* Whether `name` is "<base>.part-XXXXXX". */
static bool is_part_of(const char *name, const char *base)
{
    size_t length = (size_t)kept_length(base);
    return strncmp(name, base, length) == 0 && strncmp(name + length, mark, strlen(mark)) == 0 &&
           strlen(name) == length + strlen(mark) + strlen(unique);
}

/* Of this user, and locked by nobody: its maker is gone. Where locks are not to be had nothing is taken.
 * Answers its descriptor, locked, with its path; -1. */
static int take_over(int folder, const char *folder_name, const char *name, char path[RUE_PART_BYTES])
{
    struct stat about;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    bool ours = fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
                (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode));
    int length = snprintf(path, RUE_PART_BYTES, "%s/%s", folder_name, name);
    if (ours && length < RUE_PART_BYTES && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    close(fd);
    return -1;
}

/* Removes what others left behind of `path`; but where `kept` is given, a folder is taken over with its name,
 * and its descriptor answered; else -1. */
static int clear_leftovers(const char *path, char *kept)
{
    char before[PATH_MAX], after[PATH_MAX], left[RUE_PART_BYTES];
    struct stat about;
    int taken = -1;
    snprintf(before, sizeof before, "%s", path);
    snprintf(after, sizeof after, "%s", path);
    const char *folder_name = dirname(before), *base = basename(after);
    DIR *folder = opendir(folder_name);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (!is_part_of(entry->d_name, base)) continue;
        int fd = take_over(dirfd(folder), folder_name, entry->d_name, left);
        if (fd < 0) continue;
        if (kept && taken < 0 && fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
            taken = fd;
            snprintf(kept, RUE_PART_BYTES, "%s", left);
            continue;
        }
        rue_part_remove(left);
        close(fd);
    }
    if (folder) closedir(folder);
    return taken;
}

/* Locks what was made. Until here another process may have taken it for a leftover: false, it is gone. */
static bool lock(int fd, const char *name)
{
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
    return access(name, F_OK) == 0 || errno != ENOENT;
}

/* A temporary folder is its owner's alone; the finished one is what mkdir(2) would have made. */
static void allow_as_umask(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(fd, 0777 & ~mask);
}

static int make_folder(char *name)
{
    if (!mkdtemp(name)) return -1;
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) return fd;
    int why = errno;
    rmdir(name);
    return errno = why, -1;
}

int rue_part_open(const char *path, bool again, char name[RUE_PART_BYTES])
{
    int kept = kept_length(path), taken = clear_leftovers(path, again ? name : NULL);
    if (taken >= 0) return taken;
    for (int tries = 0;;) {
        snprintf(name, RUE_PART_BYTES, "%.*s%s%s", kept, path, mark, unique);
        int fd = make_folder(name);
        if (fd < 0 && errno == ENOENT && ++tries < TRIES_MAX) continue; /* taken for a leftover, perhaps */
        if (fd < 0) return name[0] = 0, -1;
        allow_as_umask(fd);
        if (lock(fd, name)) return fd;
        close(fd);
    }
}

rue_status rue_part_publish(const char *from, const char *path, bool overwrite, rue_error *error)
{
    int failed = overwrite ? rename(from, path) : renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE);
    if (failed && !overwrite && errno == EINVAL && access(path, F_OK) != 0)
        failed = rename(from, path); /* a file system without RENAME_NOREPLACE */
    if (failed) return rue_fail(error, RUE_STORE, "cannot rename %s to %s: %s", from, path, strerror(errno));
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    rue_write_flush_folder(dirname(folder));
    return RUE_OK;
}
