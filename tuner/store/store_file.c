#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "store_connection.h"

/* The main file last: after a crash in between it is still found, and put aside again. */
static const char *const companions[] = {"-wal", "-shm", "-journal", ""};
enum { COMPANIONS = sizeof companions / sizeof *companions, NAME_BYTES = PATH_MAX + 96, KEPT_MAX = 1000 };

/* The smallest page, so the smallest file, that SQLite has. */
enum { SQLITE_FILE_BYTES = 512 };

/* What `file` + `suffix` is; false where it is not there. */
static bool look(const char *file, const char *suffix, struct stat *about)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", file, suffix);
    return lstat(name, about) == 0;
}

bool rue_store_file_has_wal(const char *file)
{
    struct stat about;
    return look(file, "-wal", &about) && about.st_size > 0;
}

rue_status rue_store_file_check_companions(const char *file, const char *path, rue_error *error)
{
    struct stat about;
    for (int i = 0; companions[i][0]; i++)
        if (look(file, companions[i], &about) && (!S_ISREG(about.st_mode) || about.st_nlink > 1))
            return rue_fail(error, RUE_STORE,
                            "%s: %s%s beside it is a link or not a file: SQLite would write through it; "
                            "remove it, or " RUE_STORE_PUT_ASIDE,
                            path, path, companions[i], path);
    /* A store has none: SQLite would write what it holds over the store, and delete the file that it names.
     */
    if (look(file, "-journal", &about) && about.st_size > 0)
        return rue_fail(error, RUE_STORE,
                        "%s: rue did not write %s-journal beside it; move it away, or choose another folder",
                        path, path);
    return RUE_OK;
}

static rue_status check_folder(const char *file, const char *path, rue_error *error)
{
    char folder[NAME_BYTES];
    int length = (int)(strrchr(file, '/') - file);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, file);
    if (access(folder, W_OK | X_OK) == 0) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s: cannot keep a store in %s: %s; make that folder writable, or choose another folder",
                    path, folder, strerror(errno));
}

rue_status rue_store_file_check(const char *file, const char *path, rue_error *error)
{
    struct stat about;
    rue_status status = rue_store_file_check_companions(file, path, error);
    if (status != RUE_OK) return status;
    bool there = look(file, "", &about);
    if (!there) status = check_folder(file, path, error);
    if (status != RUE_OK) return status;
    if (there && !S_ISREG(about.st_mode))
        return rue_fail(error, RUE_STORE, "%s: cannot be the store: no regular file; choose another folder",
                        path);
    if (there && about.st_nlink > 1)
        return rue_fail(error, RUE_STORE,
                        "%s is a hard link, and its other names would change with it; replace it by a copy",
                        path);
    if (there && about.st_size > 0 && about.st_size < SQLITE_FILE_BYTES)
        return rue_fail(error, RUE_STORE,
                        "%s: no store of rue: too short for an SQLite file; " RUE_STORE_PUT_ASIDE, path,
                        path);
    if ((!there || about.st_size == 0) && rue_store_file_has_wal(file))
        return rue_fail(
            error, RUE_STORE,
            "%s: damaged: it is empty or missing, but its log %s-wal is not; " RUE_STORE_PUT_ASIDE, path,
            path, path);
    return RUE_OK;
}

/* What is put aside, in that order: the reports beside the store, which must not seem to be about another
 * one, then the store. `index` from 0 on; with `suffix` as it is called then. False past the last one. */
static bool name_kept(const char *file, int index, const char *suffix, char out[NAME_BYTES])
{
    int folder = (int)(strrchr(file, '/') - file);
    for (int i = 0; rue_reports[i]; i++) {
        if (!rue_reports[i]->file || index-- > 0) continue;
        snprintf(out, NAME_BYTES, "%.*s/%s%s", folder, file, rue_reports[i]->file, suffix);
        return true;
    }
    if (index >= COMPANIONS) return false;
    snprintf(out, NAME_BYTES, "%s%s%s", file, suffix, companions[index]);
    return true;
}

/* The first of ".old", ".old.2", ... that nothing has. */
static bool find_free_suffix(const char *file, char out[32])
{
    for (int n = 1; n <= KEPT_MAX; n++) {
        bool taken = false;
        char name[NAME_BYTES];
        struct stat about;
        snprintf(out, 32, n == 1 ? ".old" : ".old.%d", n);
        for (int i = 0; !taken && name_kept(file, i, out, name); i++) taken = look(name, "", &about);
        if (!taken) return true;
    }
    return false;
}

rue_status rue_store_file_put_aside(const char *file, const char *path, rue_error *error)
{
    char kept[32], from[NAME_BYTES], to[NAME_BYTES];
    if (!find_free_suffix(file, kept))
        return rue_fail(error, RUE_STORE, "%s: %d old stores lie beside it; delete some of %s.old*", path,
                        KEPT_MAX, path);
    for (int i = 0; name_kept(file, i, "", from) && name_kept(file, i, kept, to); i++) {
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0 && errno != ENOENT &&
            (errno != EINVAL || rename(from, to) != 0)) /* a file system without RENAME_NOREPLACE */
            return rue_fail(error, RUE_STORE, "%s: cannot rename %s to %s: %s; move it away yourself", path,
                            from, to, strerror(errno));
    }
    return RUE_OK;
}
