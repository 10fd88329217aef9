#include "runner_server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data_scan.h"
#include "device_table.h"
#include "gpu.h"
#include "json_document.h"
#include "json_memory.h"
#include "machine.h"
#include "made_with.h"
#include "model_cuda.h"
#include "model_host.h"
#include "model_sleep.h"
#include "note.h"
#include "profile_json.h"
#include "protocol.h"
#include "read_ahead.h"
#include "residency.h"
#include "sampler.h"
#include "trial_loop.h"
#include "trial_options.h"
#include "units.h"
#include "workload_json.h"

enum { OPEN_SOURCES_MAX = 16, GPUS_MAX = 16 };

/* How long to look for damaged images among those that need not be in memory. */
static const uint64_t SCAN_MORE_NS = UINT64_C(2000000000);

struct opened_source {
    struct rue_source *source;
    struct rue_variant variant; /* as requested */
    enum rue_missing_chunks missing_chunks;
    bool scanned;
};

/* Sources stay open between trials, so that no trial includes opening the index. */
struct server {
    FILE *in, *out;
    bool writes_nothing; /* keep no index beside shards */
    size_t opened;       /* number of sources opened so far; each new one replaces the oldest */
    struct opened_source sources[OPEN_SOURCES_MAX];
};

/* A request may leave out the other fields, which the data show. */
static bool same_data(const struct rue_variant *a, const struct rue_variant *b)
{
    return strcmp(a->path, b->path) == 0 && strcmp(a->image_key, b->image_key) == 0 &&
           strcmp(a->label_key, b->label_key) == 0 && strcmp(a->subset, b->subset) == 0;
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static rue_status find_source(struct server *server, const struct rue_variant *variant,
                              enum rue_missing_chunks missing_chunks, struct opened_source **out,
                              rue_error *error)
{
    for (size_t i = 0; i < OPEN_SOURCES_MAX; i++)
        if (server->sources[i].source && server->sources[i].missing_chunks == missing_chunks &&
            same_data(&server->sources[i].variant, variant))
            return *out = &server->sources[i], RUE_OK;
    struct opened_source *opening = &server->sources[server->opened % OPEN_SOURCES_MAX];
    rue_source_close(opening->source);
    *opening = (struct opened_source){.variant = *variant, .missing_chunks = missing_chunks};
    const struct rue_source_options options = {.format = or_null(variant->format),
                                               .image_key = or_null(variant->image_key),
                                               .label_key = or_null(variant->label_key),
                                               .subset = or_null(variant->subset),
                                               .read_only = server->writes_nothing,
                                               .missing_chunks = missing_chunks};
    rue_status status = rue_source_open(variant->path, &options, &opening->source, error);
    if (status != RUE_OK) return opening->source = NULL, status;
    server->opened++;
    *out = opening;
    return RUE_OK;
}

/* The images that trials will read and that stay in the page cache: none if they need more than half of the
 * free memory. */
static uint64_t warm_images(const struct rue_open_request *request, uint64_t share, struct rue_opened *opened)
{
    uint64_t free_bytes = rue_machine_available_bytes();
    uint64_t images = request->images && request->images < share ? request->images : share;
    if (strcmp(request->workload.cache, RUE_CACHE_WARM) != 0) return 0;
    double bytes = (double)opened->bytes / (double)opened->images * (double)images;
    if (free_bytes && bytes > (double)free_bytes / 2) {
        snprintf(opened->cache_reason, sizeof opened->cache_reason,
                 "they do not fit in half of the free memory");
        return 0;
    }
    return images;
}

static void note_damage(const struct rue_damage *damage, const struct rue_open_request *request,
                        struct rue_opened *opened)
{
    char bad[RUE_UNIT_TEXT_BYTES], scanned[RUE_UNIT_TEXT_BYTES];
    bool replaces = request->workload.bad_images == RUE_BAD_REPLACE, tensors = opened->dtype[0];
    if (damage->count == 0) return;
    rue_note_add(opened->note, sizeof opened->note, "%s of %s images %s damaged or unreadable, such as %s%s",
                 rue_format_count(damage->count, bad, sizeof bad),
                 rue_format_count(damage->scanned, scanned, sizeof scanned),
                 damage->count == 1 ? "is" : "are", damage->first.message,
                 !replaces ? "; a job stops there: repair or remove it, or give --bad-images replace"
                 : tensors ? "; trials replace only those that cannot be read or decoded"
                           : "");
}

/* Reads the data once, so that warm trials find them in the page cache. */
static rue_status scan_source(struct opened_source *opening, const struct rue_open_request *request,
                              const struct rue_sampler *sampler, struct rue_opened *opened, rue_error *error)
{
    bool cold = strcmp(request->workload.cache, RUE_CACHE_COLD) == 0, /* reading would make them warm */
        brief = request->images == RUE_OPEN_BRIEFLY;
    const struct rue_data_scan scan = {
        .source = opening->source,
        .workload = &request->workload,
        .sampler = sampler,
        .images = warm_images(request, rue_sampler_share(sampler), opened),
        .more_ns = opening->scanned || cold || brief ? 0 : SCAN_MORE_NS,
    };
    struct rue_damage damage;
    opening->scanned = true;
    rue_status status = rue_data_scan(&scan, &damage, error);
    if (status == RUE_OK) note_damage(&damage, request, opened);
    if (status == RUE_OK && scan.images) snprintf(opened->cache, sizeof opened->cache, RUE_CACHE_WARM);
    return status;
}

static rue_status try_cold(const struct rue_source *source, const struct rue_workload *load, uint64_t images,
                           struct rue_opened *opened, rue_error *error)
{
    const struct rue_sampler order = rue_workload_sampler(load);
    struct rue_residency *residency;
    if (strcmp(load->cache, RUE_CACHE_COLD) != 0) return RUE_OK;
    rue_status status = rue_residency_open(source, &order, images, &residency, error);
    if (status != RUE_OK) return status;
    if (rue_residency_try_cold(residency, opened->cache_reason, sizeof opened->cache_reason))
        snprintf(opened->cache, sizeof opened->cache, RUE_CACHE_COLD);
    rue_residency_close(residency);
    return RUE_OK;
}

/* Only preprocessed items in one open file are read ahead. */
static void note_access(const struct rue_source *source, struct rue_opened *opened)
{
    struct rue_place place;
    if (rue_source_variant(source).mode == RUE_RAW || rue_read_ahead_is_permitted() ||
        !rue_source_place(source, RUE_ACCESS_READ, 0, &place) || place.path)
        return;
    rue_note_add(opened->note, sizeof opened->note,
                 "io_uring is not permitted here, so items that are not in memory are read one by one: allow "
                 "it (in a container: its seccomp profile)");
}

static rue_status open_data(struct server *server, const struct rue_open_request *request,
                            struct rue_opened *out, rue_error *error)
{
    struct opened_source *opening;
    rue_status status =
        find_source(server, &request->variant, request->workload.missing_chunks, &opening, error);
    if (status != RUE_OK) return status;
    const struct rue_source *source = opening->source;
    struct rue_variant actual = rue_source_variant(source);
    out->images = rue_source_count(source);
    out->has_subset = request->variant.subset[0] != 0;
    out->bytes = rue_source_total_bytes(source);
    snprintf(out->digest, sizeof out->digest, "%016" PRIx64, rue_source_digest(source));
    snprintf(out->dtype, sizeof out->dtype, "%s", actual.dtype);
    /* Normalised data cannot become uint8. Report that before warming them. */
    bool floating = actual.dtype[0] && strcmp(actual.dtype, rue_dtype_names[RUE_UINT8]) != 0;
    snprintf(out->layout, sizeof out->layout, "%s", rue_source_blocks(source)->layout);
    struct rue_item_shape item;
    status = rue_trial_item_shape(&request->workload, source, &item, error);
    if (status != RUE_OK) return status;
    if (actual.mode == RUE_PREPROCESSED)
        rue_made_with_items(item.shape[0], rue_source_made_with(source), out->made_with);
    out->item_values = item.all_values == RUE_TENSOR_ITEMS ? 0 : item.all_values;
    out->views = rue_workload_views(&request->workload);
    out->geometry = !rue_workload_is_usual(&request->workload);
    out->chunk_cache_bytes = rue_source_cache_bytes(source);
    out->batch_dtype = floating ? RUE_FLOAT32 : request->workload.batch_dtype;
    if (out->batch_dtype != request->workload.batch_dtype) return RUE_OK;
    if (rue_workload_trains(&request->workload))
        snprintf(out->transform, sizeof out->transform, RUE_TRANSFORM_TRAIN);
    struct rue_sampler sampler = rue_workload_sampler(&request->workload);
    status = rue_sampler_open(&sampler, source, error);
    if (status != RUE_OK) return status;
    if (request->workload.world_size > 1) out->share_images = rue_sampler_share(&sampler);
    status = scan_source(opening, request, &sampler, out, error);
    rue_sampler_close(&sampler);
    char note[RUE_ERROR_MESSAGE_BYTES];
    rue_source_note(source, note, sizeof note);
    rue_note_add(out->note, sizeof out->note, "%s", note);
    note_access(source, out);
    return status == RUE_OK ? try_cold(source, &request->workload, request->images, out, error) : status;
}

/* The profile in the request, else that of the catalogue. */
static rue_status find_profile(const char *name, const json_t *request, struct rue_profile *out,
                               rue_error *error)
{
    struct rue_json_reader reader = {.place = "trial", .error = error};
    const json_t *sent = rue_json_object(&reader, request, "profile", true);
    if (reader.status != RUE_OK) return reader.status;
    if (json_object_get(sent, "consumer")) sent = NULL; /* a model that runs: the catalogue has it */
    rue_status known = rue_device_table_model(name, out, sent ? NULL : error);
    if (!sent) return known;
    if (known != RUE_OK) *out = (struct rue_profile){0};
    out->consumer = RUE_CONSUMER_SLEEP;
    snprintf(out->name, sizeof out->name, "%s", name);
    rue_json_enter(&reader, "profile");
    rue_profile_read(&reader, sent, out);
    return reader.status;
}

static rue_status open_model(const struct rue_trial_request *trial, const json_t *request,
                             struct rue_model *out, rue_error *error)
{
    struct rue_profile profile;
    *out = rue_model_none();
    if (!trial->model[0]) return RUE_OK;
    rue_status status = find_profile(trial->model, request, &profile, error);
    if (status == RUE_OK && profile.consumer == RUE_CONSUMER_CUDA)
        return rue_model_cuda_open(&profile, out, error);
    if (status == RUE_OK && profile.consumer == RUE_CONSUMER_HOST) {
        struct rue_matrix_product product;
        status = rue_matrix_product_open(RUE_OPENBLAS, &product, error);
        return status == RUE_OK ? rue_model_host_open(&profile, &product, out, error) : status;
    }
    return status == RUE_OK ? rue_model_sleep_open(&profile, out, error) : status;
}

/* A trial that starts together with trials of other runners. */
struct starter {
    const struct server *server;
    json_t *id;
};

static rue_status wait_for_start(void *context, rue_error *error)
{
    const struct starter *starter = context;
    char *ready = rue_protocol_encode_ready(starter->id), *line = NULL;
    size_t capacity = 0;
    if (!ready) return rue_fail_memory(error, "an answer", 64);
    bool sent = fprintf(starter->server->out, "%s\n", ready) > 0 && fflush(starter->server->out) == 0 &&
                getline(&line, &capacity, starter->server->in) >= 0;
    bool starts = sent && rue_protocol_is_start(line);
    free(line);
    free(ready);
    return starts ? RUE_OK
                  : rue_fail(error, RUE_RUNNER, "the line after \"ready\" is not " RUE_PROTOCOL_START);
}

/* `object` is the request as JSON. */
static rue_status run_trial(struct server *server, json_t *object, const struct rue_trial_request *asked,
                            struct rue_trial_result *out, rue_error *error)
{
    struct rue_trial_request request = *asked;
    struct opened_source *opened = NULL;
    struct rue_model model = {0};
    if (request.measure == RUE_LOAD) request.model[0] = 0;
    rue_status status = open_model(&request, object, &model, error);
    if (status == RUE_OK && request.measure != RUE_COMPUTE)
        status = find_source(server, &request.variant, request.workload.missing_chunks, &opened, error);
    struct starter starter = {server, json_object_get(object, "id")};
    const struct rue_trial_start start = {wait_for_start, &starter};
    if (status == RUE_OK)
        rue_trial_run(request.waits ? &start : NULL, &request, opened ? opened->source : NULL, &model, out);
    rue_model_close(&model);
    return status;
}

/* If the GPUs differ, the machine includes which of them are visible. */
static void add_gpus(json_t *machine)
{
    char models[GPUS_MAX][RUE_GPU_NAME_BYTES];
    size_t count = rue_gpu_driver_models(RUE_GPU_DRIVER_FOLDER, models, GPUS_MAX);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    bool all_same = true;
    json_t *array = count ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        all_same = all_same && strcmp(models[i], models[0]) == 0;
        json_array_append_new(array, json_string(models[i]));
    }
    if (array) json_object_set_new(machine, "gpus", array);
    if (!all_same && visible) json_object_set_new(machine, "visible_gpus", json_string(visible));
}

static json_t *machine_json(void)
{
    struct rue_machine machine = rue_machine_read();
    json_t *object = json_pack("{s:s, s:i, s:i, s:i, s:f, s:I, s:s}", "cpu", machine.cpu, "usable_cpus",
                               machine.usable_cpus, "online_cpus", machine.online_cpus, "affinity_cpus",
                               machine.affinity_cpus, "quota_cpus", machine.quota_cpus, "memory_bytes",
                               (json_int_t)machine.memory_bytes, "kernel", machine.kernel);
    if (!rue_read_ahead_is_permitted()) json_object_set_new(object, "io_uring", json_false());
    add_gpus(object);
    return object;
}

static char *answer_hello(void)
{
    json_t *greeting = json_pack("{s:s, s:s, s:s, s:o, s:[s,s,s], s:s}", "protocol", RUE_PROTOCOL_NAME,
                                 "runner", "rue " RUE_VERSION, "loader", "rue", "machine", machine_json(),
                                 "measures", "joint", "load", "compute", "clock", "real");
    char *line = rue_json_dump(greeting, JSON_COMPACT);
    json_decref(greeting);
    return line;
}

static char *answer_open(struct server *server, const json_t *object)
{
    rue_error error = {0};
    struct rue_open_request request;
    struct rue_opened opened = {.cache = RUE_CACHE_AS_IS};
    rue_status status = rue_protocol_decode_open(object, &request, &error);
    if (status != RUE_OK) return rue_protocol_encode_failure(NULL, error.status, error.message);
    status = open_data(server, &request, &opened, &error);
    if (status == RUE_USAGE) return rue_protocol_encode_refusal(error.message);
    return status == RUE_OK ? rue_protocol_encode_opened(&opened)
                            : rue_protocol_encode_failure(NULL, error.status, error.message);
}

static char *answer_trial(struct server *server, json_t *object)
{
    rue_error error = {0};
    struct rue_trial_request request;
    struct rue_trial_result result = rue_trial_result_empty();
    json_t *id = json_object_get(object, "id");
    rue_status status = rue_protocol_decode_trial(object, &request, &error);
    if (status == RUE_OK) status = run_trial(server, object, &request, &result, &error);
    char *line = status == RUE_OK ? rue_protocol_encode_result(id, &result)
                                  : rue_protocol_encode_failure(id, error.status, error.message);
    rue_trial_result_close(&result);
    return line;
}

static char *answer_unknown(const json_t *request, const char *op)
{
    char reason[128];
    snprintf(reason, sizeof reason, "unknown op '%.40s': use hello, open or trial", op ? op : "");
    return rue_protocol_encode_failure(json_object_get(request, "id"), RUE_RUNNER, reason);
}

static char *answer(struct server *server, const char *line)
{
    rue_error error = {0};
    json_t *request;
    if (rue_protocol_parse(line, &request, &error) != RUE_OK)
        return rue_protocol_encode_failure(NULL, error.status, error.message);
    const char *op = json_string_value(json_object_get(request, "op"));
    char *reply;
    if (op && strcmp(op, "hello") == 0)
        reply = answer_hello();
    else if (op && strcmp(op, "open") == 0)
        reply = answer_open(server, request);
    else if (op && strcmp(op, "trial") == 0)
        reply = answer_trial(server, request);
    else
        reply = answer_unknown(request, op);
    json_decref(request);
    return reply;
}

/* The reply to a line, owned by the caller. If JSON ran out of memory, the reply may be incomplete and is
 * replaced. */
static char *answer_whole(struct server *server, const char *line)
{
    static const char no_memory[] = "{\"id\":null,\"status\":\"infeasible\",\"refused\":1,"
                                    "\"reason\":\"the runner is out of memory; free some memory\"}";
    unsigned failures = rue_json_memory_failures();
    char *reply = answer(server, line);
    if (reply && rue_json_memory_failures() == failures) return reply;
    free(reply);
    return strdup(no_memory);
}

rue_status rue_runner_serve(FILE *in, FILE *out, bool writes_nothing, rue_error *error)
{
    struct server server = {.in = in, .out = out, .writes_nothing = writes_nothing};
    rue_status status = RUE_OK;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    rue_json_memory_watch();
    while (status == RUE_OK && (length = getline(&line, &capacity, in)) >= 0) {
        if (strspn(line, " \t\r\n") == (size_t)length) continue;
        char *reply = answer_whole(&server, line);
        if (!reply || fprintf(out, "%s\n", reply) < 0 || fflush(out) != 0)
            status = rue_fail(error, RUE_INTERNAL, "cannot write to the tuner");
        free(reply);
    }
    free(line);
    for (size_t i = 0; i < OPEN_SOURCES_MAX; i++) rue_source_close(server.sources[i].source);
    return status;
}
