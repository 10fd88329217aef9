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

#include "advice.h"
#include "file_io.h"

static const char prefix[] = ".rue-", unique[] = "XXXXXX", mark_name[] = "/" RUE_PART_MARK;
enum { MARK_BYTES = NAME_MAX + 256 };

/* ---- removing ---- */

static bool is_kept(const struct dirent64 *entry, bool root)
{
    return strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
           (root && strcmp(entry->d_name, RUE_PART_MARK) == 0);
}

/* Removes the files of the folder `path`, except the mark of the `root`. At a subfolder it stops and appends
 * its name to `path`. Returns the number of removed files; -1: error. */
static int clear_folder(char path[RUE_PART_BYTES], bool root)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), removed = 0;
    _Alignas(struct dirent64) char entries[4096];
    ssize_t got = -1;
    size_t length = strlen(path);
    while (fd >= 0 && (got = getdents64(fd, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            at += entry->d_reclen;
            if (is_kept(entry, root)) continue;
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

static bool clear_part(const char *name)
{
    /* One descriptor at a time and no allocation: either may have run out. */
    char path[RUE_PART_BYTES];
    size_t root = (size_t)snprintf(path, sizeof path, "%s", name);
    for (;;) {
        size_t length = strlen(path);
        int removed = clear_folder(path, length == root);
        if (removed < 0) return false;
        if (path[length]) continue;
        if (length == root && !removed) return true;
        if (length > root && rmdir(path) == 0)
            *strrchr(path, '/') = 0;
        else if (length > root && (errno != ENOTEMPTY || !removed))
            return false;
    }
}

void rue_part_remove(const char *name)
{
    char path[RUE_PART_BYTES + sizeof mark_name];
    if (!name[0]) return;
    /* Two attempts: descriptors may be available again. If the folder cannot be read, try the usual file
     * "data". */
    if (!clear_part(name) && !clear_part(name)) {
        snprintf(path, sizeof path, "%s/data", name);
        if (unlink(path) != 0 && errno != ENOENT) return;
    }
    snprintf(path, sizeof path, "%s%s", name,
             mark_name); /* last: without the mark a later run cannot identify the rest */
    for (int i = 0; i < 2; i++) {
        unlink(path);
        if (rmdir(name) == 0) return;
    }
}

/* ---- the mark ---- */

/* The text of the mark in the folder `about`, made for `base`. */
static int format_mark(const struct stat *about, const char *base, char out[MARK_BYTES])
{
    return snprintf(out, MARK_BYTES,
                    "rue writes an unfinished file here, and removes this folder with everything in it.\n"
                    "folder %llu for %.*s\n",
                    (unsigned long long)about->st_ino, NAME_MAX, base);
}

static bool write_mark(int folder, const char *base)
{
    char text[MARK_BYTES];
    struct stat about;
    int fd = openat(folder, RUE_PART_MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    bool written =
        fstat(folder, &about) == 0 &&
        rue_write_at(fd, RUE_PART_MARK, text, (size_t)format_mark(&about, base, text), 0, NULL) == RUE_OK &&
        fsync(fd) == 0;
    int why = errno;
    close(fd);
    if (!written) unlinkat(folder, RUE_PART_MARK, 0);
    return errno = why, written;
}

static bool has_mark(int folder, const char *base)
{
    char expected[MARK_BYTES], found[MARK_BYTES];
    struct stat about;
    if (fstat(folder, &about) != 0 || about.st_uid != geteuid()) return false;
    int fd = openat(folder, RUE_PART_MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t bytes = pread(fd, found, sizeof found, 0);
    close(fd);
    return bytes == format_mark(&about, base, expected) && memcmp(found, expected, (size_t)bytes) == 0;
}

/* ---- making ---- */

static bool may_be_part(const char *name)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && strlen(name) == strlen(prefix) + strlen(unique);
}

/* Opens and locks a marked folder whose maker is gone, as it is not locked. -1: not such a folder. */
static int claim_leftover(int beside, const char *name, const char *base)
{
    int fd = openat(beside, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (has_mark(fd, base) && flock(fd, LOCK_EX | LOCK_NB) == 0 && has_mark(fd, base))) return fd;
    close(fd);
    return -1;
}

static void clear_leftovers(const char *folder_name, const char *base)
{
    char leftover[RUE_PART_BYTES];
    DIR *folder = opendir(folder_name);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int fd = may_be_part(entry->d_name) ? claim_leftover(dirfd(folder), entry->d_name, base) : -1;
        if (fd < 0) continue;
        snprintf(leftover, sizeof leftover, "%s/%s", folder_name, entry->d_name);
        rue_part_remove(leftover);
        close(fd);
    }
    if (folder) closedir(folder);
}

/* The mark comes after the lock, so that no other process can claim the folder in between. */
static int make_part_folder(const char *base, char *name)
{
    if (!mkdtemp(name)) return -1;
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) (void)flock(fd, LOCK_EX | LOCK_NB); /* on a file system without locks, leftovers stay */
    if (fd >= 0 && write_mark(fd, base)) return fd;
    int why = errno;
    rmdir(name);
    if (fd >= 0) close(fd);
    return errno = why, -1;
}

void rue_part_sweep(const char *path)
{
    char before[PATH_MAX], after[PATH_MAX];
    snprintf(before, sizeof before, "%s", path);
    snprintf(after, sizeof after, "%s", path);
    clear_leftovers(dirname(before), basename(after));
}

int rue_part_open(const char *path, char name[RUE_PART_BYTES])
{
    char before[PATH_MAX], after[PATH_MAX];
    snprintf(before, sizeof before, "%s", path);
    snprintf(after, sizeof after, "%s", path);
    const char *folder = dirname(before), *base = basename(after);
    clear_leftovers(folder, base);
    snprintf(name, RUE_PART_BYTES, "%s/%s%s", folder, prefix, unique);
    int fd = make_part_folder(base, name);
    if (fd < 0) name[0] = 0;
    return fd;
}

/* ---- to the disk ---- */

rue_status rue_write_flush(int fd, const char *path, rue_error *error)
{
    if (fdatasync(fd) == 0) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write %s to the disk: %s%s", path, strerror(errno),
                    rue_advice(errno));
}

void rue_write_flush_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
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
