#include "rue_python.h"

#include <locale.h>
#include <string.h>

#include "python_options.h"
#include "transform.h"
#include "trial_options.h"

_Static_assert(sizeof(struct rue_batch) == 64 && offsetof(struct rue_batch, items) == 56,
               "native.py repeats this struct");

/* Numbers have a point and messages are English in the scope of this, whatever locale the program has set. */
#define PLAIN_LOCALE \
    __attribute__((cleanup(restore_locale))) locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", NULL))

static void restore_locale(const locale_t *before)
{
    uselocale(*before);
}

int rue_python_abi(void)
{
    return RUE_PYTHON_ABI;
}

/* Of the data that this thread opens. */
static _Thread_local const int *stop_flag;

static rue_status check_stop(void)
{
    return __atomic_load_n(stop_flag, __ATOMIC_RELAXED) ? RUE_INTERRUPTED : RUE_OK;
}

static const char *unless_empty(const char *text)
{
    return *text ? text : NULL;
}

rue_status rue_python_open_data(const char *path, const char *subset, const char *options, const int *stop,
                                struct rue_source **out, rue_error *error)
{
    PLAIN_LOCALE;
    struct rue_python_options read;
    rue_status status = rue_python_read_options(options, &read, error);
    if (status != RUE_OK) return status;
    stop_flag = stop;
    const struct rue_source_options opening = {.format = unless_empty(read.data.format),
                                               .image_key = unless_empty(read.data.image_key),
                                               .label_key = unless_empty(read.data.label_key),
                                               .subset = subset,
                                               .missing_chunks = read.workload.missing_chunks,
                                               .stop = check_stop};
    return rue_source_open(path, &opening, out, error);
}

rue_status rue_python_facts(const struct rue_source *source, const char *options,
                            struct rue_python_facts *out, rue_error *error)
{
    PLAIN_LOCALE;
    struct rue_python_options read;
    rue_status status = rue_python_read_options(options, &read, error);
    if (status != RUE_OK) return status;
    const struct rue_geometry geometry = rue_workload_geometry(&read.workload);
    struct rue_item_shape item;
    status = rue_trial_item_shape(&read.workload, source, &item, error);
    if (status != RUE_OK) return status;
    struct rue_variant variant = rue_source_variant(source);
    *out = (struct rue_python_facts){.items = rue_source_count(source),
                                     .whole_items = rue_source_whole_count(source),
                                     .digest = rue_source_digest(source),
                                     .classes = rue_source_class_count(source),
                                     .has_labels = rue_source_has_labels(source)};
    memcpy(out->augment, read.workload.augment, sizeof out->augment);
    out->views = item.views;
    memcpy(out->shape, item.shape, sizeof out->shape);
    memcpy(out->mean, geometry.mean, sizeof out->mean);
    memcpy(out->std, geometry.std, sizeof out->std);
    out->raw = variant.mode == RUE_RAW;
    memcpy(out->format, variant.format, sizeof out->format);
    memcpy(out->dtype, variant.dtype, sizeof out->dtype);
    return RUE_OK;
}

void rue_python_number(const struct rue_source *source, uint64_t *items, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) items[i] = rue_source_number(source, items[i]);
}

rue_status rue_python_images(const struct rue_source *source, const char *options, enum rue_even even,
                             uint64_t *share, uint64_t *images, rue_error *error)
{
    PLAIN_LOCALE;
    struct rue_python_options read;
    rue_status status = rue_python_read_options(options, &read, error);
    if (status != RUE_OK) return status;
    struct rue_sampler sampler = rue_workload_sampler(&read.workload);
    status = rue_sampler_open(&sampler, source, error);
    if (status != RUE_OK) return status;
    *share = rue_sampler_share(&sampler);
    *images = rue_sampler_images(&sampler, even);
    rue_sampler_close(&sampler);
    return RUE_OK;
}

rue_status rue_python_open_loader(const struct rue_source *source, const char *options, uint64_t images,
                                  int max_held, struct rue_loader **out, rue_error *error)
{
    PLAIN_LOCALE;
    struct rue_python_options read;
    rue_status status = rue_python_read_options(options, &read, error);
    if (status != RUE_OK) return status;
    const struct rue_trial_request request = {.config = read.config,
                                              .workload = read.workload,
                                              .images = images,
                                              .limits = {.memory_bytes = read.memory_bytes}};
    struct rue_loader_options loader = rue_trial_loader_options(&request);
    struct rue_views views;
    loader.max_held = max_held;
    loader.continues = true;
    status = rue_trial_views(&read.workload, &views, &loader, error);
    return status == RUE_OK ? rue_loader_open(source, &loader, out, error) : status;
}

void rue_python_release(struct rue_loader *loader, struct rue_batch **batch)
{
    struct rue_batch *held = __atomic_exchange_n(batch, NULL, __ATOMIC_ACQ_REL);
    if (held) rue_loader_release(loader, held);
}
