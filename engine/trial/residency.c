#include "residency.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_io.h"
#include "machine.h"
#include "sort.h"
#include "units.h"
#include "usage.h"

/* Share of its bytes that a trial reads from storage: at least, if cold; at most, if warm. The pages of the
 * program do not count. */
static const double cold_ratio = 0.9, warm_ratio = 0.05;
enum { SAMPLE = 1024, TRIED = 16, PROGRAM_BYTES = 1 << 18 };

struct rue_residency {
    const struct rue_source *source;
    uint64_t *items; /* [count], ascending */
    uint64_t count;
    uint64_t bytes; /* bytes of the items on storage */
    double epochs;  /* that a trial loads: at least 1, with fractions */
};

/* Items repeat when the order enters the next epoch. */
static void sort_items(struct rue_residency *residency, uint64_t drawn)
{
    rue_sort_integers(residency->items, drawn);
    for (uint64_t i = 0; i < drawn; i++) {
        uint64_t item = residency->items[i];
        if (residency->count && residency->items[residency->count - 1] == item) continue;
        residency->items[residency->count++] = item;
        residency->bytes += rue_source_bytes(residency->source, item);
    }
}

/* Bytes on storage per byte of an item; items of compressed chunks need fewer. */
static double stored_ratio(const struct rue_source *source)
{
    if (rue_source_block(source) == 1) return 1;
    uint64_t item_bytes = rue_source_bytes(source, 0); /* items of chunks have the same size */
    return (double)rue_source_total_bytes(source) / (double)(rue_source_count(source) * item_bytes);
}

rue_status rue_residency_open(const struct rue_source *source, const struct rue_sampler *order,
                              uint64_t images, struct rue_residency **out, rue_error *error)
{
    struct rue_sampler sampler = *order;
    rue_status status = rue_sampler_open(&sampler, source, error);
    if (status != RUE_OK) return status;
    uint64_t share = rue_sampler_share(&sampler);
    double epochs = images > share ? (double)images / (double)share : 1;
    if (images == 0 || images > share) images = share;
    struct rue_residency *residency = calloc(1, sizeof *residency);
    uint64_t *items = malloc(images * sizeof *items);
    if (!residency || !items) {
        rue_sampler_close(&sampler);
        free(residency);
        free(items);
        return rue_fail_memory(error, "a list of items", images * sizeof *items);
    }
    *residency = (struct rue_residency){.source = source, .items = items, .epochs = epochs};
    for (uint64_t i = 0; i < images; i++) items[i] = rue_sampler_item(&sampler, i);
    rue_sampler_close(&sampler);
    sort_items(residency, images);
    residency->bytes = (uint64_t)((double)residency->bytes * stored_ratio(source));
    *out = residency;
    return RUE_OK;
}

void rue_residency_close(struct rue_residency *residency)
{
    if (!residency) return;
    free(residency->items);
    free(residency);
}

uint64_t rue_residency_bytes(const struct rue_residency *residency)
{
    return residency->bytes;
}

/* The file of the previous item; the next item is often in the same one. */
struct file {
    struct rue_place at;
    int fd;         /* of the file; owned by the source if there is no path; -1 */
    bool unchanged; /* same file as for the previous item */
};

static void close_file(struct file *file)
{
    if (file->fd >= 0 && file->at.path) close(file->fd);
    file->fd = -1;
}

static bool open_item_file(struct file *file, const struct rue_source *source, uint64_t item)
{
    struct rue_place at;
    if (!rue_source_place(source, RUE_ACCESS_READ, item, &at)) return false;
    file->unchanged = file->fd >= 0 && at.path == file->at.path;
    if (!file->unchanged) {
        close_file(file);
        file->fd = at.path ? openat(at.fd, at.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : at.fd;
    }
    file->at = at;
    return file->fd >= 0;
}

static bool count_item(struct file *file, const struct rue_source *source, uint64_t item, uint64_t *cached)
{
    return open_item_file(file, source, item) &&
           rue_page_cache_count(file->fd, file->at.offset, file->at.bytes, cached);
}

bool rue_residency_ratio(const struct rue_residency *residency, double *ratio)
{
    uint64_t step = residency->count > SAMPLE ? residency->count / SAMPLE : 1, total = 0, cached = 0, part;
    struct file file = {.fd = -1};
    bool counted = true;
    for (uint64_t i = 0; counted && i < residency->count; i += step) {
        counted = count_item(&file, residency->source, residency->items[i], &part);
        total += file.at.bytes;
        cached += part;
    }
    close_file(&file);
    *ratio = counted && total ? (double)cached / (double)total : 1;
    return counted;
}

bool rue_residency_evict(const struct rue_residency *residency)
{
    struct file file = {.fd = -1};
    bool found = true;
    rue_source_drop_pages(residency->source);
    rue_source_trim(residency->source);
    for (uint64_t i = 0; found && i < residency->count; i++) {
        found = open_item_file(&file, residency->source, residency->items[i]);
        if (found && !file.unchanged) rue_page_cache_evict(file.fd);
    }
    close_file(&file);
    return found;
}

static rue_status allocate_scratch(const struct rue_residency *residency, void **scratch, rue_error *error)
{
    uint64_t largest = 1;
    for (uint64_t i = 0; i < residency->count; i++) {
        uint64_t bytes = rue_source_bytes(residency->source, residency->items[i]);
        if (bytes > largest) largest = bytes;
    }
    rue_source_trim(residency->source); /* decoded chunks read nothing */
    *scratch = malloc(largest);
    return *scratch ? RUE_OK : rue_fail_memory(error, "reading the data", largest);
}

rue_status rue_residency_warm(const struct rue_residency *residency, rue_error *error)
{
    double ratio;
    void *scratch;
    uint64_t available = rue_machine_available_bytes(), cached;
    if (!rue_residency_ratio(residency, &ratio) || ratio == 1) return RUE_OK;
    if (available && (1 - ratio) * (double)residency->bytes > (double)available / 2) return RUE_OK;
    rue_status status = allocate_scratch(residency, &scratch, error);
    if (status != RUE_OK) return status;
    struct file file = {.fd = -1};
    for (uint64_t i = 0; i < residency->count; i++) {
        uint64_t item = residency->items[i];
        if (count_item(&file, residency->source, item, &cached) && cached == file.at.bytes) continue;
        rue_error ignored = {0};
        if (rue_source_read(residency->source, item, scratch, &ignored) != RUE_OK) continue;
    }
    close_file(&file);
    free(scratch);
    return RUE_OK;
}

/* Reads some items, and sets `*bytes` to their size on storage. */
static bool read_sample(const struct rue_residency *residency, uint64_t *bytes)
{
    void *scratch;
    rue_error ignored = {0};
    *bytes = 0;
    if (allocate_scratch(residency, &scratch, &ignored) != RUE_OK) return false;
    bool read = true;
    for (uint64_t i = 0; read && i < residency->count && i < TRIED; i++) {
        read = rue_source_read(residency->source, residency->items[i], scratch, &ignored) == RUE_OK;
        *bytes += rue_source_bytes(residency->source, residency->items[i]);
    }
    /* Chunks differ in size after compression; at least half of the mean is certain enough. */
    double ratio = stored_ratio(residency->source);
    *bytes = (uint64_t)((double)*bytes * (ratio < 1 ? ratio / 2 : 1));
    free(scratch);
    return read;
}

bool rue_residency_try_cold(const struct rue_residency *residency, char *why, size_t bytes)
{
    double ratio;
    uint64_t sample_bytes;
    char percent[8];
    if (!rue_residency_evict(residency)) {
        snprintf(why, bytes, "the format does not say which files hold its items");
        return false;
    }
    if (rue_residency_ratio(residency, &ratio) && ratio > 1 - cold_ratio) {
        snprintf(percent, sizeof percent, "%.0f", 100 * ratio);
        snprintf(
            why, bytes,
            "%s %% of its bytes stay in memory: its file system is in memory, or another process uses them",
            percent);
        return false;
    }
    uint64_t before = rue_usage_read().read_bytes;
    if (!read_sample(residency, &sample_bytes)) return true; /* the trials will report damaged data */
    if ((double)(rue_usage_read().read_bytes - before) >= cold_ratio * (double)sample_bytes) return true;
    snprintf(why, bytes, "the kernel does not count reads from this storage");
    return false;
}

bool rue_residency_judge_bytes(const struct rue_workload *workload, uint64_t read_bytes, uint64_t data_bytes,
                               double epochs, char *why, size_t bytes)
{
    char read[RUE_UNIT_TEXT_BYTES], expected[RUE_UNIT_TEXT_BYTES];
    double epoch_bytes = (double)data_bytes, loaded_bytes = epoch_bytes * epochs;
    bool ok = true;
    if (strcmp(workload->cache, RUE_CACHE_COLD) == 0) ok = (double)read_bytes >= cold_ratio * loaded_bytes;
    if (strcmp(workload->cache, RUE_CACHE_WARM) == 0)
        ok = read_bytes <= PROGRAM_BYTES || (double)read_bytes <= warm_ratio * epoch_bytes;
    if (ok) return true;
    snprintf(why, bytes, "the data were not %s: %s of the %s loaded came from storage", workload->cache,
             rue_format_bytes(read_bytes, read, sizeof read),
             rue_format_bytes((uint64_t)loaded_bytes, expected, sizeof expected));
    return false;
}

bool rue_residency_judge(const struct rue_residency *residency, const struct rue_workload *workload,
                         uint64_t read_bytes, char *why, size_t bytes)
{
    return rue_residency_judge_bytes(workload, read_bytes, residency->bytes, residency->epochs, why, bytes);
}
