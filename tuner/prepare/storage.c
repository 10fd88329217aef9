#include "storage.h"

#include <ftw.h>
#include <math.h>
#include <sys/stat.h>

#include "interrupt.h"
#include "sink.h"

static double total_bytes; /* static, because nftw() passes no context */

static int add_entry(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    if (at->level > 0 && path[at->base] == '.') return FTW_SKIP_SUBTREE;
    if (kind == FTW_NS || kind == FTW_DNR || rue_interrupt_status() != RUE_OK) return FTW_STOP;
    if (kind == FTW_F) total_bytes += (double)about->st_size;
    return FTW_CONTINUE;
}

double rue_storage_bytes(const char *path)
{
    enum { FOLDERS_OPEN = 32 };
    total_bytes = 0;
    return nftw(path, add_entry, FOLDERS_OPEN, FTW_ACTIONRETVAL) == 0 ? total_bytes : NAN;
}

double rue_variant_storage_bytes(const struct rue_variant *variant, uint64_t item_bytes)
{
    double bytes = rue_storage_bytes(variant->path);
    if (isnan(bytes)) return (double)item_bytes;
    const struct rue_sink_ops *sink = rue_sink_find(variant->format);
    return sink && sink->lists_files ? bytes + (double)item_bytes : bytes;
}
