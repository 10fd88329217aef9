#include "storage.h"

#include <fts.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "interrupt.h"

double rue_storage_bytes(const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    double sum = 0;
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && !isnan(sum) && (entry = fts_read(tree));) {
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
