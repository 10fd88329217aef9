/* Reads the data once before the trials: what a warm study loads stays in the page cache, and items that
 * would stop a job are found although no trial may load them. */
#ifndef RUE_DATA_SCAN_H
#define RUE_DATA_SCAN_H

#include "sampler.h"
#include "source.h"
#include "workload.h"

struct rue_data_scan {
    const struct rue_source *source;
    const struct rue_workload *workload;
    const struct rue_sampler *sampler; /* open */
    uint64_t images;                   /* of the sampler's order that are read in any case */
    uint64_t more_ns;                  /* how long to read further raw items; they need not be in memory */
};

/* Items that are damaged or unreadable. */
struct rue_damage {
    uint64_t scanned, count;
    rue_error first; /* of the first one; its message names it */
};

/* Reads and verifies the items; blocks on storage. RUE_DATA: a preprocessed item cannot be read, or has a
 * wrong checksum, and the workload does not replace such items. RUE_MEMORY, and the results of
 * rue_source_failure. */
rue_status rue_data_scan(const struct rue_data_scan *scan, struct rue_damage *out,
                         rue_error *error) RUE_MUST_CHECK;

#endif
