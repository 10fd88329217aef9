#include "data_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fetcher.h"
#include "units.h"

/* Items that were found damaged. */
struct damage {
    uint64_t scanned, count;
    rue_error first;
};

static rue_status open_verifier(const struct rue_data_scan *scan, struct rue_fetcher **out, rue_error *error)
{
    const struct rue_fetcher_options options = {.dtype = scan->workload->batch_dtype,
                                                .max_pixels = scan->workload->max_pixels,
                                                .decode = scan->workload->decode,
                                                .read = RUE_READ_ITEM};
    return rue_fetcher_open(scan->source, &options, out, error);
}

/* Raw items are counted: a trial that loads one reports it. Trials do not verify checksums, so nothing would
 * report a wrong one later. */
static rue_status scan_item(const struct rue_data_scan *scan, struct rue_fetcher *verifier, uint64_t item,
                            void *scratch, struct damage *damage, rue_error *error)
{
    rue_error why = {0};
    bool counts =
        scan->workload->bad_images == RUE_BAD_REPLACE || rue_source_variant(scan->source).mode == RUE_RAW;
    rue_status status = rue_source_read(scan->source, item, scratch, &why);
    if (status == RUE_OK) status = rue_fetcher_verify(verifier, item, scratch, &why);
    damage->scanned++;
    if (status == RUE_OK) return RUE_OK;
    if (status != RUE_DATA || !counts) return rue_fail(error, status, "%s", why.message);
    if (damage->count++ == 0) damage->first = why;
    return RUE_OK;
}

static void note_damage(const struct rue_data_scan *scan, const struct damage *damage, char *note,
                        size_t bytes)
{
    size_t used = strlen(note);
    char bad[RUE_UNIT_TEXT_BYTES], scanned[RUE_UNIT_TEXT_BYTES];
    bool replaces = scan->workload->bad_images == RUE_BAD_REPLACE,
         raw = rue_source_variant(scan->source).mode == RUE_RAW;
    if (damage->count == 0) return;
    snprintf(note + used, bytes - used, "%s%s of %s images %s damaged or unreadable, such as %s%s",
             used ? "; " : "", rue_format_count(damage->count, bad, sizeof bad),
             rue_format_count(damage->scanned, scanned, sizeof scanned), damage->count == 1 ? "is" : "are",
             damage->first.message,
             !replaces ? "; a job stops there: repair or remove it, or give --bad-images replace"
             : raw     ? ""
                       : "; trials replace only those that cannot be read or decoded");
}

rue_status rue_data_scan(const struct rue_data_scan *scan, char *note, size_t bytes, rue_error *error)
{
    bool raw = rue_source_variant(scan->source).mode == RUE_RAW;
    uint64_t share = rue_sampler_share(scan->sampler), count = rue_source_count(scan->source), largest = 1,
             end_ns = 0;
    struct rue_fetcher *verifier;
    struct damage damage = {0};
    if (scan->images == 0 && (!raw || scan->more_ns == 0)) return RUE_OK;
    for (uint64_t i = 0; i < count; i++)
        if (rue_source_bytes(scan->source, i) > largest) largest = rue_source_bytes(scan->source, i);
    void *scratch = malloc(largest);
    if (!scratch) return rue_fail_memory(error, "reading the data", largest);
    rue_status status = open_verifier(scan, &verifier, error);
    if (status != RUE_OK) return free(scratch), status;
    for (uint64_t i = 0; status == RUE_OK && i < (raw ? share : scan->images); i++) {
        if (i == scan->images) end_ns = rue_clock_now_ns() + scan->more_ns;
        if (i >= scan->images && rue_clock_now_ns() >= end_ns) break;
        status = scan_item(scan, verifier, rue_sampler_item(scan->sampler, i), scratch, &damage, error);
    }
    rue_fetcher_close(verifier);
    free(scratch);
    note_damage(scan, &damage, note, bytes);
    return status;
}
