#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "store_error.h"
#include "store_guard.h"
#include "store_schema.h"

/* The main file last: after a crash in between it is still found, and put aside again. */
static const char *const companions[] = {"-wal", "-shm", "-journal", ""};
enum { COMPANIONS = sizeof companions / sizeof *companions, NAME_BYTES = PATH_MAX + 32, KEPT_MAX = 1000 };

/* The smallest page, so the smallest file, that SQLite has. */
enum { SQLITE_FILE_BYTES = 512 };

static void name_join(char out[NAME_BYTES], const char *file, const char *suffix)
{
    snprintf(out, NAME_BYTES, "%s%s", file, suffix);
}

/* The size of `file` + `suffix` in bytes, -1 where there is none. */
static long long file_bytes(const char *file, const char *suffix)
{
    char name[NAME_BYTES];
    struct stat about;
    name_join(name, file, suffix);
    return lstat(name, &about) == 0 ? (long long)about.st_size : -1;
}

bool rue_store_file_has_wal(const char *file)
{
    return file_bytes(file, "-wal") > 0;
}

char *rue_store_file_immutable_uri(const char *file)
{
    char *uri = malloc(3 * strlen(file) + 64), *at = uri;
    if (!uri) return NULL;
    at += sprintf(at, "file:");
    for (; *file; file++) {
        bool plain = (*file >= '0' && *file <= '9') || ((*file | 32) >= 'a' && (*file | 32) <= 'z') ||
                     strchr("/._-", *file);
        at += plain ? sprintf(at, "%c", *file) : sprintf(at, "%%%02X", (unsigned char)*file);
    }
    sprintf(at, "?immutable=1");
    return uri;
}

static rue_status folder_check(const char *file, const char *path, rue_error *error)
{
    const char *slash = strrchr(file, '/');
    char folder[NAME_BYTES];
    snprintf(folder, sizeof folder, "%.*s", slash == file ? 1 : (int)(slash - file), file);
    struct stat about;
    if (stat(folder, &about) != 0)
        return rue_fail(error, RUE_STORE,
                        "%s: cannot keep a store in %s: %s; make that folder, or choose another folder", path,
                        folder, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return rue_fail(error, RUE_STORE,
                        "%s: cannot keep a store in %s: not a folder; choose another folder", path, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return rue_fail(
            error, RUE_STORE,
            "%s: cannot keep a store in the folder %s: %s; make it writable, or choose another folder", path,
            folder, strerror(errno));
    return RUE_OK;
}

rue_status rue_store_file_resolve(const char *path, char **out_file, rue_error *error)
{
    char *file = realpath(path, NULL);
    if (!file && asprintf(&file, "%s%s", path[0] == '/' ? "" : "./", path) < 0) {
        *out_file = NULL;
        return rue_fail_memory(error, "the store's path", strlen(path) + 3);
    }
    *out_file = file;
    if (strlen(file) >= PATH_MAX)
        return rue_fail(error, RUE_STORE, "%s: the path is too long; choose another folder", path);
    rue_status status = folder_check(file, path, error);
    struct stat about;
    if (status != RUE_OK || stat(file, &about) != 0) return status;
    if (!S_ISREG(about.st_mode))
        return rue_fail(error, RUE_STORE, "%s: cannot be the store: no regular file; choose another folder",
                        path);
    return RUE_OK;
}

/* The size of the pages of an SQLite file, as its header has it; 0 where it is none. */
static long long page_bytes(const char *file)
{
    static const char magic[] = "SQLite format 3"; /* with its 0 */
    unsigned char header[sizeof magic + 2];
    FILE *in = fopen(file, "rb");
    bool read = in && fread(header, 1, sizeof header, in) == sizeof header;
    if (in) fclose(in);
    if (!read || memcmp(header, magic, sizeof magic) != 0) return 0;
    int value = header[sizeof magic] << 8 | header[sizeof magic + 1];
    return value == 1 ? 65536 : value;
}

/* Whether the journal names another file, as those of transactions over several databases do: SQLite would
 * delete that one. */
static bool names_another_file(const char *journal)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char last[sizeof magic];
    FILE *in = fopen(journal, "rb");
    bool names = in && fseeko(in, -(off_t)sizeof last, SEEK_END) == 0 &&
                 fread(last, sizeof last, 1, in) == 1 && memcmp(last, magic, sizeof magic) == 0;
    if (in) fclose(in);
    return names;
}

/* Whether the file begins as the log, the shared memory and the journal of SQLite do, or with nothing yet. */
static bool is_sqlites(const char *name)
{
    static const unsigned char begins[][4] = {{0},
                                              {0x37, 0x7f, 0x06, 0x82},
                                              {0x37, 0x7f, 0x06, 0x83},
                                              {0x18, 0xe2, 0x2d, 0},
                                              {0xd9, 0xd5, 0x05, 0xf9}};
    unsigned char found[4] = {0};
    FILE *in = fopen(name, "rb");
    bool sqlites = !in || fread(found, 1, sizeof found, in) == 0;
    if (in) fclose(in);
    for (size_t i = 0; !sqlites && i < sizeof begins / sizeof *begins; i++)
        sqlites = memcmp(found, begins[i], sizeof found) == 0;
    return sqlites;
}

rue_status rue_store_file_check_companions(const char *file, const char *path, rue_error *error)
{
    for (int i = 0; companions[i][0]; i++) {
        char name[NAME_BYTES];
        struct stat about;
        name_join(name, file, companions[i]);
        if (lstat(name, &about) != 0) continue;
        if (!S_ISREG(about.st_mode) || about.st_nlink > 1)
            return rue_fail(error, RUE_STORE,
                            "%s: %s%s beside it is a link or not a file: SQLite would write through it; "
                            "remove it, or " RUE_STORE_PUT_ASIDE,
                            path, path, companions[i], path);
        bool of_log = strcmp(companions[i], "-shm") == 0 && rue_store_file_has_wal(file);
        if (!is_sqlites(name) && !of_log)
            return rue_fail(
                error, RUE_STORE,
                "%s: SQLite did not write %s%s and would replace it; move it away, or choose another folder",
                path, path, companions[i]);
        if (strcmp(companions[i], "-journal") == 0 && names_another_file(name))
            return rue_fail(error, RUE_STORE,
                            "%s: %s%s beside it names a file that SQLite would delete; remove it, "
                            "or " RUE_STORE_PUT_ASIDE,
                            path, path, companions[i], path);
    }
    return RUE_OK;
}

rue_status rue_store_file_check(const char *file, const char *path, rue_error *error)
{
    struct stat about;
    rue_status status = rue_store_file_check_companions(file, path, error);
    if (status != RUE_OK) return status;
    if (lstat(file, &about) == 0 && about.st_nlink > 1)
        return rue_fail(error, RUE_STORE,
                        "%s is a hard link, and its other names would change with it; replace it by a copy",
                        path);
    long long bytes = file_bytes(file, "");
    if (bytes > 0 && bytes < SQLITE_FILE_BYTES)
        return rue_fail(error, RUE_STORE,
                        "%s: no store of rue: too short for an SQLite file; " RUE_STORE_PUT_ASIDE, path,
                        path);
    if (bytes <= 0 && rue_store_file_has_wal(file))
        return rue_fail(
            error, RUE_STORE,
            "%s: damaged: it is empty or missing, but its log %s-wal is not; " RUE_STORE_PUT_ASIDE, path,
            path, path);
    /* SQLite takes what is missing of a page for zeros. */
    long long page = bytes > 0 && !rue_store_file_has_wal(file) ? page_bytes(file) : 0;
    if (page > 0 && bytes % page != 0)
        return rue_fail(error, RUE_STORE, "%s: damaged: its last page is cut; " RUE_STORE_PUT_ASIDE, path,
                        path);
    return RUE_OK;
}

/* Brings the log of a healthy file into it. A damaged one is left as it is: its companions move along with
 * it. */
static rue_status settle(const char *file, const char *path, rue_error *error)
{
    sqlite3 *db = NULL;
    rue_status status = RUE_OK;
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) goto out;
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int code = rue_store_guard_open(db);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT", NULL, NULL, NULL);
    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_INTERRUPT)
        status = rue_store_fail(db, code, path, "putting the store aside", error);
    if (code == SQLITE_OK && rue_store_schema_check(db, path, NULL) == RUE_OK)
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);

out:
    sqlite3_close(db);
    return status;
}

/* What is put aside, in that order: the reports beside the store, which must not seem to be about another
 * one, then the store. `index` from 0 on; with `suffix` as it is called then. False past the last one. */
static bool name_kept(const char *file, int index, const char *suffix, char out[NAME_BYTES + 64])
{
    int folder = (int)(strrchr(file, '/') - file);
    for (int i = 0; rue_reports[i]; i++) {
        if (!rue_reports[i]->file || index-- > 0) continue;
        snprintf(out, NAME_BYTES + 64, "%.*s/%s%s", folder, file, rue_reports[i]->file, suffix);
        return true;
    }
    if (index >= COMPANIONS) return false;
    snprintf(out, NAME_BYTES + 64, "%s%s%s", file, suffix, companions[index]);
    return true;
}

/* The first of ".old", ".old.2", ... that nothing has. */
static bool free_suffix_find(const char *file, char out[32])
{
    for (int n = 1; n <= KEPT_MAX; n++) {
        bool taken = false;
        char name[NAME_BYTES + 64];
        snprintf(out, 32, ".old.%d", n);
        if (n == 1) out[strlen(".old")] = 0;
        for (int i = 0; !taken && name_kept(file, i, out, name); i++) taken = file_bytes(name, "") >= 0;
        if (!taken) return true;
    }
    return false;
}

rue_status rue_store_file_put_aside(const char *file, const char *path, rue_error *error)
{
    bool usable = file_bytes(file, "") >= SQLITE_FILE_BYTES &&
                  rue_store_file_check_companions(file, path, NULL) == RUE_OK;
    rue_status status = usable ? settle(file, path, error) : RUE_OK;
    if (status != RUE_OK) return status;

    char kept[32], from[NAME_BYTES + 64], to[NAME_BYTES + 64];
    if (!free_suffix_find(file, kept))
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
