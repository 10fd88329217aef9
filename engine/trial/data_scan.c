#include "data_scan.h"

#include "clock.h"
#include "fetcher.h"

/* Raw items are counted: a trial that loads one reports it. Trials do not verify checksums, so nothing would
 * report a wrong one later. */
static rue_status scan_item(const struct rue_data_scan *scan, struct rue_fetcher *fetcher, uint64_t item,
                            struct rue_damage *damage, rue_error *error)
{
    rue_error why = {0};
    bool counts =
        scan->workload->bad_images == RUE_BAD_REPLACE || rue_source_variant(scan->source).mode == RUE_RAW;
    rue_status status = rue_fetcher_verify(fetcher, item, &why);
    damage->scanned++;
    if (status == RUE_OK) return RUE_OK;
    if (status != RUE_DATA || !counts) return rue_fail(error, status, "%s", why.message);
    if (damage->count++ == 0) damage->first = why;
    return RUE_OK;
}

static rue_status scan_items(const struct rue_data_scan *scan, struct rue_fetcher *fetcher,
                             struct rue_damage *damage, rue_error *error)
{
    bool more = rue_source_variant(scan->source).mode == RUE_RAW && scan->more_ns > 0;
    uint64_t end = more ? rue_sampler_share(scan->sampler) : scan->images, end_ns = 0;
    rue_status status = RUE_OK;
    for (uint64_t i = 0; status == RUE_OK && i < end; i++) {
        if (i == scan->images) end_ns = rue_clock_now_ns() + scan->more_ns;
        if (i > scan->images && rue_clock_now_ns() >= end_ns) break;
        status = scan_item(scan, fetcher, rue_sampler_item(scan->sampler, i), damage, error);
    }
    return status;
}

rue_status rue_data_scan(const struct rue_data_scan *scan, struct rue_damage *out, rue_error *error)
{
    const struct rue_fetcher_options options = {.dtype = scan->workload->batch_dtype,
                                                .max_pixels = scan->workload->max_pixels,
                                                .decode = scan->workload->decode,
                                                .geometry = rue_workload_geometry(scan->workload),
                                                .orientation = scan->workload->orientation,
                                                .read = RUE_READ_ITEM};
    struct rue_fetcher *fetcher;
    *out = (struct rue_damage){0};
    rue_status status = rue_fetcher_open(scan->source, &options, &fetcher, error);
    if (status != RUE_OK) return status;
    status = scan_items(scan, fetcher, out, error);
    rue_fetcher_close(fetcher);
    return status;
}
