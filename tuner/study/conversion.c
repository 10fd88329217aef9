#include "conversion.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "part.h"
#include "prepare.h"
#include "storage.h"
#include "study_opening.h"

static bool is_convertible(const struct rue_variant *from, const struct rue_variant *to)
{
    const struct rue_sink_ops *sink = rue_sink_find(to->format);
    bool decoded = from->mode == RUE_PREPROCESSED;
    if (!sink || !sink->has_mode[to->mode] || (decoded && to->mode == RUE_RAW)) return false;
    return !decoded || strcmp(from->dtype, to->dtype) == 0 || strcmp(to->dtype, "float32") == 0;
}

/* Chunks of the sample are stored as those of the data at `to`. */
static rue_status copy_chunks(const struct rue_variant *to, struct rue_source_options keys,
                              struct rue_chunking *out, rue_error *error)
{
    struct rue_source *existing;
    keys.stop = rue_interrupt_status;
    if (!rue_sink_find(to->format)->chunks) return RUE_OK;
    rue_status status = rue_source_open(to->path, &keys, &existing, error);
    if (status != RUE_OK) return status;
    *out = rue_chunking_find(existing);
    rue_source_close(existing);
    return RUE_OK;
}

/* Converts a sample to measure the time per image. On failure the time stays unknown. */
static rue_status time_conversion(const struct rue_study_setup *setup, size_t index,
                                  struct rue_variant_findings *out, rue_error *error)
{
    const struct rue_variant *from = &setup->variants[0].variant, *to = &setup->variants[index].variant;
    char sample[PATH_MAX], part[RUE_PART_BYTES], path[RUE_PART_BYTES + 8];
    rue_error why = {0};
    struct rue_prepared done = {0};
    if (!is_convertible(from, to)) {
        rue_progress_note(setup->progress, "%s cannot be made from %s, so it is unknown when converting pays",
                          to->path, from->path);
        return RUE_OK;
    }
    int dtype = rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, to->dtype);
    struct rue_prepare_options options = {
        .source = {.format = from->format,
                   .image_key = setup->goal.data.keys.image_key,
                   .label_key = setup->goal.data.keys.label_key,
                   .subset = setup->goal.data.keys.subset},
        .format = to->format,
        .mode = (int)to->mode,
        .dtype = dtype < 0 ? RUE_DTYPE_COUNT : dtype,
        .split = "sample",
        .shard_bytes = UINT64_C(256) << 20,
        .images = setup->goal.data.sample_images,
        .seed = setup->goal.loader.workload.seed,
        .max_pixels = setup->goal.loader.workload.max_pixels,
        .geometry = rue_workload_geometry(&setup->goal.loader.workload),
        .orientation = setup->goal.loader.workload.orientation,
        .bad_images = setup->goal.loader.workload.bad_images,
    };
    rue_status status = copy_chunks(to, setup->goal.data.keys, &options.chunks, &why);
    rue_study_sample_name(setup, sample);
    rue_progress_show(setup->progress, "converting a sample to the format of %s", to->path);
    int lock = rue_part_open(sample, part);
    snprintf(path, sizeof path, "%s/data", part);
    if (status == RUE_OK)
        status = lock >= 0 ? rue_prepare_convert(from->path, path, &options, NULL, &done, &why)
                           : rue_fail(&why, RUE_STORE, "cannot write to %s: %s", setup->place.folder,
                                      strerror(errno));
    if (lock >= 0) close(lock);
    rue_part_remove(part);
    if (status == RUE_INTERRUPTED || status == RUE_TERMINATED)
        return rue_fail(error, status, "%s", why.message);
    if (status != RUE_OK)
        rue_progress_note(setup->progress, "the time of converting to %s is unknown: %s", to->path,
                          why.message);
    else
        out->data.build_s_per_image = (double)done.elapsed_ns / 1e9 / (double)done.images;
    return RUE_OK;
}

rue_status rue_conversion_measure(const struct rue_study_setup *setup, struct rue_findings *findings,
                                  rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t v = 0; v < findings->variant_count; v++) {
        struct rue_variant_findings *variant = &findings->variants[v];
        variant->data.storage_bytes = rue_variant_storage_bytes(&variant->variant, variant->data.bytes);
        if (v > 0 && status == RUE_OK) status = time_conversion(setup, v, variant, error);
    }
    rue_progress_close(setup->progress);
    return status;
}
