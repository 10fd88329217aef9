#include "file_system.h"

#include <fcntl.h>
#include <math.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "walk.h"

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

static rue_status add_bytes(void *context, const struct rue_walk_entry *entry, rue_error *error)
{
    (void)error;
    if (entry->kind == RUE_WALK_FILE) *(double *)context += (double)entry->bytes;
    return rue_interrupt_status();
}

double rue_storage_bytes(const char *path)
{
    struct stat about;
    double sum = 0;
    if (stat(path, &about) != 0) return NAN;
    if (S_ISREG(about.st_mode)) return (double)about.st_size;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rue_status status = fd < 0 ? RUE_DATA : rue_walk(path, fd, add_bytes, &sum, NULL);
    if (fd >= 0) close(fd);
    return status == RUE_OK ? sum : NAN;
}

double rue_storage_of(const struct rue_variant *variant, uint64_t item_bytes)
{
    double bytes = rue_storage_bytes(variant->path);
    if (isnan(bytes)) return (double)item_bytes;
    return strcmp(variant->format, "csv") == 0 ? bytes + (double)item_bytes : bytes;
}
