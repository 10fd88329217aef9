#include "file_system.h"

#include <fts.h>
#include <math.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interrupt.h"

/* Whether `path` is at or below `mount`. */
static bool lies_in(const char *path, const char *mount)
{
    size_t length = strlen(mount);
    if (length == 1) return true;
    return strncmp(path, mount, length) == 0 && (path[length] == 0 || path[length] == '/');
}

/* Of mounts at the same place the last one is seen. */
bool rue_file_system_of(const char *path, struct rue_file_system *out)
{
    char real[PATH_MAX];
    size_t best = 0;
    FILE *file = realpath(path, real) ? setmntent("/proc/self/mounts", "re") : NULL;
    for (struct mntent *one; file && (one = getmntent(file));) {
        size_t length = strlen(one->mnt_dir);
        if (length < best || !lies_in(real, one->mnt_dir)) continue;
        best = length;
        snprintf(out->type, sizeof out->type, "%s", one->mnt_type);
        snprintf(out->source, sizeof out->source, "%s", one->mnt_fsname);
        snprintf(out->mount, sizeof out->mount, "%s", one->mnt_dir);
    }
    if (file) endmntent(file);
    return best > 0;
}

double rue_storage_bytes(const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    double sum = 0;
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        bool failed = entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR;
        bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';
        if (hidden) fts_set(tree, entry, FTS_SKIP);
        if (entry->fts_info == FTS_F && !hidden) sum += (double)entry->fts_statp->st_size;
        if (failed || rue_interrupt_status() != RUE_OK) sum = NAN;
    }
    if (tree) fts_close(tree);
    return tree ? sum : NAN;
}

double rue_storage_of(const struct rue_variant *variant, uint64_t item_bytes)
{
    double bytes = rue_storage_bytes(variant->path);
    if (isnan(bytes)) return (double)item_bytes;
    return strcmp(variant->format, "csv") == 0 ? bytes + (double)item_bytes : bytes;
}
