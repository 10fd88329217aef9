#include "storage.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "walk.h"

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
