#include "trial_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "json_document.h"
#include "json_fields.h"
#include "page_writers.h"
#include "prose.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

enum { BRIEF_BATCHES = 8, VALUES_AT = 16 };

/* ---- facts ---- */

/* Where facts are written. */
struct facts {
    const struct rue_report_style *style;
    FILE *stream;
    bool gap; /* an empty line comes before the next fact */
};

static void put_fact(struct facts *facts, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_fact(struct facts *facts, const char *name, const char *format, ...)
{
    char label[32], text[PATH_MAX + 512], clean[sizeof text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(label, sizeof label, "  %s", name);
    if (facts->gap) fputc('\n', facts->stream);
    facts->gap = false;
    rue_utf8_clean(text, facts->style->unicode, clean, sizeof clean);
    rue_wrap_item(facts->stream, label, clean, facts->style->columns, VALUES_AT);
    fputc('\n', facts->stream);
}

static void put_images(struct facts *facts, const struct rue_trial_request *request)
{
    char count[RUE_UNIT_TEXT_BYTES], job[RUE_UNIT_TEXT_BYTES];
    uint64_t images = request->images, whole = request->job_images;
    rue_format_count(images, count, sizeof count);
    rue_format_count(whole, job, sizeof job);
    if (request->measure == RUE_COMPUTE)
        put_fact(facts, "batches", "%" PRIu64, request->batches);
    else if (images && images < whole)
        put_fact(facts, "images", "%s, a part of the job of %s", count, job);
    else if (images)
        put_fact(facts, "images", "%s, the whole job", count);
}

static void put_request(struct facts *facts, const struct rue_trial_life *life)
{
    static const char *const measures[] = {[RUE_JOINT] = "loader and model together (joint)",
                                           [RUE_LOAD] = "the loader alone (load)",
                                           [RUE_COMPUTE] = "the model alone (compute)"};
    const struct rue_trial_request *request = &life->row.request;
    char name[128], config[RUE_CONFIG_TEXT_BYTES], text[RUE_UNIT_TEXT_BYTES];
    rue_variant_describe(&request->variant, name, sizeof name);
    rue_config_describe(&request->config, config);
    put_fact(facts, "measured", "%s", measures[request->measure]);
    put_fact(facts, "data", "%s", life->of_table ? request->variant.path : name);
    if (life->of_sample)
        put_fact(facts, "path", "a sample, converted for the comparison and then removed");
    else if (request->variant.path[0] && !life->of_table)
        put_fact(facts, "path", "%s", request->variant.path);
    if (request->model[0]) put_fact(facts, "model", "%s", request->model);
    put_fact(facts, "configuration", "%s", config);
    put_images(facts, request);
    if (!life->of_table) put_fact(facts, "cache", "%s", request->workload.cache);
    if (request->limits.time_ns)
        put_fact(facts, "time limit", "%s", rue_format_duration(request->limits.time_ns, text, sizeof text));
    if (request->limits.memory_bytes)
        put_fact(facts, "memory limit", "%s",
                 rue_format_bytes(request->limits.memory_bytes, text, sizeof text));
    put_fact(facts, "runner", "%s", life->runner);
    if (!life->of_table)
        put_fact(facts, "started", "%s after its run began",
                 rue_format_duration(life->row.started_ns, text, sizeof text));
    put_fact(facts, "stored", "%s", life->recorded);
}

/* ---- where the time went ---- */

static void put_part(struct rue_page *page, const char *name, double ns, double total_ns)
{
    if (!(ns > 0)) return;
    const struct rue_table_column row[] = {
        {NULL, "part", .text = name},
        {NULL, "time", RUE_UNIT_DURATION, .number = ns},
        {NULL, "share", RUE_UNIT_PERCENT, .number = ns / total_ns},
        {NULL, "", RUE_UNIT_BAR, .number = ns / total_ns, .drop = 1},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static void put_parts(struct rue_page *page, const struct rue_trial_result *result)
{
    struct rue_parts parts = {0};
    rue_parts_add(&parts, result);
    double sum = rue_parts_sum(parts.ns);
    if (!(sum > 0)) return;
    rue_page_gap(page);
    rue_page_table(page);
    for (size_t i = 0; i < RUE_PART_COUNT; i++)
        put_part(page, rue_part_names[i], parts.ns[i], parts.total_ns);
    put_part(page, "other", parts.total_ns - sum, parts.total_ns);
}

/* ---- what it used ---- */

static void put_bytes(struct facts *facts, const char *name, int64_t bytes)
{
    char text[RUE_UNIT_TEXT_BYTES];
    if (bytes >= 0) put_fact(facts, name, "%s", rue_format_bytes((uint64_t)bytes, text, sizeof text));
}

static void put_use(struct facts *facts, const struct rue_trial_life *life)
{
    const struct rue_trial_result *result = &life->row.result;
    char count[RUE_UNIT_TEXT_BYTES];
    if (result->images > 0 && result->end_to_end_ns > 0)
        put_fact(facts, "images/s", "%s",
                 rue_format_count((uint64_t)llround((double)result->images / (double)result->end_to_end_ns *
                                                    (double)RUE_NS_PER_S),
                                  count, sizeof count));
    if (isfinite(result->cpu_ratio)) put_fact(facts, "CPUs in use", "%.1f", result->cpu_ratio);
    put_bytes(facts, "memory", result->anon_peak_bytes);
    put_bytes(facts, "file-backed", result->file_peak_bytes);
    put_bytes(facts, "disk reads", result->read_bytes);
    put_bytes(facts, "data size", result->data_bytes);
    if (result->cache_missed != RUE_ABSENT)
        put_fact(facts, "cache state", "%s%s", result->cache_missed ? "not " : "",
                 strcmp(life->row.request.workload.cache, RUE_CACHE_COLD) == 0 ? "cold" : "warm");
    if (result->queue_waits > 0)
        put_fact(facts, "queue", "empty at %" PRId64 " batches, first at %" PRId64, result->queue_waits,
                 result->queue_empty_batch);
    if (result->bad_images > 0) put_fact(facts, "bad images", "%" PRId64, result->bad_images);
}

/* ---- batches ---- */

static double interval_ns(const struct rue_trial_result *result, size_t batch)
{
    return (double)result->batch_ready_ns[batch] - (batch ? (double)result->batch_ready_ns[batch - 1] : 0);
}

static double list_value(const uint64_t *list, size_t count, size_t batch)
{
    return batch < count ? (double)list[batch] : NAN;
}

static void put_batches(struct rue_page *page, const struct rue_trial_result *result, bool brief)
{
    size_t count = result->ready_count, shown = brief && count > BRIEF_BATCHES ? BRIEF_BATCHES : count;
    if (!count) return;
    rue_page_gap(page);
    rue_page_table(page);
    for (size_t b = 0; b < shown; b++) {
        double ready_ns = (double)result->batch_ready_ns[b],
               compute_ns = list_value(result->batch_compute_ns, result->compute_count, b),
               images = list_value(result->batch_images, result->images_count, b),
               queued = list_value(result->batch_queued, result->queued_count, b);
        const struct rue_table_column row[] = {
            {NULL, "batch", RUE_UNIT_COUNT, .number = (double)b},
            {NULL, "delivered at", RUE_UNIT_DURATION, .number = ready_ns},
            {NULL, "after the one before", RUE_UNIT_DURATION, .number = b ? interval_ns(result, b) : NAN,
             .drop = 2},
            {NULL, "time in the model", RUE_UNIT_DURATION, .number = compute_ns},
            {NULL, "images", RUE_UNIT_COUNT, .number = images, .drop = 3},
            {NULL, "loaded ahead", RUE_UNIT_COUNT, .number = queued, .drop = 1},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
    }
    rue_page_sentence(page, RUE_LOOK_DIM, 2);
    if (shown < count)
        rue_say(page, "and %zu more batch%s (--details lists them)", count - shown,
                count - shown == 1 ? "" : "es");
}

/* ---- sentences ---- */

static void say_title(struct rue_page *page, const struct rue_trial_life *life)
{
    const struct rue_trial_result *result = &life->row.result;
    char time[RUE_UNIT_TEXT_BYTES];
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_say(page, "Trial %" PRIu64 " of %s: %s", life->row.id, life->study,
            rue_outcome_names[result->outcome]);
    if (result->outcome == RUE_TRIAL_OK && result->end_to_end_ns > 0)
        rue_say(page, ", %s", rue_format_duration((uint64_t)result->end_to_end_ns, time, sizeof time));
    rue_say(page, "%s%s.", result->reason[0] ? ": " : "", result->reason);
}

static void say_expectation(struct rue_page *page, const struct rue_trial_life *life)
{
    const struct rue_cell *cell = life->cell;
    char own[RUE_UNIT_TEXT_BYTES], usual[RUE_UNIT_TEXT_BYTES];
    bool known = isfinite(life->job_ns) && life->job_ns > 0;
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (known && life->extended)
        rue_say(page, "Extended to the whole job at its steady rate, it takes %s. ",
                rue_format_duration((uint64_t)life->job_ns, own, sizeof own));
    if (known && cell && cell->median_ns > 0) {
        char times[RUE_UNIT_TEXT_BYTES];
        rue_format_duration((uint64_t)cell->median_ns, usual, sizeof usual);
        rue_format_times(life->job_ns / cell->median_ns, times, sizeof times);
        rue_say(page, "Expected: ");
        if (cell->repeats == 1)
            rue_say(page, "nothing to compare it with, as it is the only trial of this model and "
                          "configuration.");
        else if (cell->repeats)
            rue_say(page, "%s, the median of %zu trials; it is %s times that.", usual, cell->repeats, times);
        else
            rue_say(page, "%s, the estimate from all trials; it is %s times that.", usual, times);
    }
    if (life->row.disturbed)
        rue_say(page, " It was disturbed: so far from the expected time that it has a low weight.");
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!life->variant)
        rue_say(page,
                "It is not a trial of the last run: its job, workload, runner, machine or data differ.");
}

/* False without the command of its runner; that of the last run is known. */
static bool make_command(const struct rue_trial_life *life, char out[RUE_TRIAL_COMMAND_BYTES])
{
    const struct rue_trial_request *request = &life->row.request;
    out[0] = 0;
    if (request->measure != RUE_JOINT || life->of_table || life->of_sample) return false;
    return rue_trial_command(request, request->variant.path, life->own_runner,
                             life->variant ? life->findings->run.command_line : "", out);
}

static void say_command(struct rue_page *page, const struct rue_trial_life *life)
{
    char command[RUE_TRIAL_COMMAND_BYTES];
    bool complete = make_command(life, command);
    if (!command[0]) return;
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "To repeat it%s:", complete ? "" : ", with the --runner of its study");
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_say(page, "%s", command);
}

/* Writes and closes the page, if it is not empty, after an empty line unless it is the first. */
static rue_status write_page(struct rue_page *page, bool first, struct facts *facts, rue_error *error)
{
    rue_status status = RUE_OK;
    bool shown = page->failed;
    for (size_t i = 0; i < page->count; i++) shown |= rue_page_is_shown(page, i);
    if (shown && !first) fputc('\n', facts->stream);
    if (shown) status = rue_page_write(page, facts->style, facts->stream, error);
    rue_page_close(page);
    return status;
}

rue_status rue_trial_write(const struct rue_trial_life *life, const struct rue_report_style *style,
                           FILE *stream, rue_error *error)
{
    struct facts facts = {style, stream, true};
    struct rue_page title = {0}, parts = {0}, rest = {0};
    say_title(&title, life);
    rue_status status = write_page(&title, true, &facts, error);
    if (status != RUE_OK) return status;
    put_request(&facts, life);
    put_parts(&parts, &life->row.result);
    status = write_page(&parts, false, &facts, error);
    if (status != RUE_OK) return status;
    facts.gap = true;
    put_use(&facts, life);
    put_batches(&rest, &life->row.result, style->brief);
    say_expectation(&rest, life);
    say_command(&rest, life);
    status = write_page(&rest, false, &facts, error);
    return status == RUE_OK ? rue_report_finish(stream, error) : status;
}

/* ---- JSON ---- */

static json_t *field_json(const struct rue_trial_result *result, const struct rue_trial_field *field)
{
    const char *at = (const char *)result + field->offset;
    int64_t integer;
    double real;
    memcpy(field->real ? (void *)&real : &integer, at, sizeof real);
    if (field->real) return rue_json_real(real);
    return integer == RUE_ABSENT ? json_null() : json_integer(integer);
}

static json_t *times_json(const uint64_t *times, size_t count)
{
    json_t *array = count ? json_array() : json_null();
    for (size_t i = 0; i < count; i++) rue_json_push(&array, rue_json_integer(times[i]));
    return array;
}

json_t *rue_trial_json(const struct rue_trial_life *life)
{
    const struct rue_trial_request *request = &life->row.request;
    const struct rue_trial_result *result = &life->row.result;
    const struct rue_variant *variant = &request->variant;
    const struct rue_cell *cell = life->cell;
    bool compared = cell && cell->median_ns > 0 && cell->repeats != 1;
    char command[RUE_TRIAL_COMMAND_BYTES];
    make_command(life, command);
    json_t *object = rue_json_make("format:t study:t id:n started_ns:n stored:t measure:t", "rue.trial/1",
                                   life->study, life->row.id, life->row.started_ns, life->recorded,
                                   rue_measure_names[request->measure]);
    rue_json_add(&object, "variant:o",
                 rue_json_make("mode:t format:t dtype:T path:T", rue_mode_names[variant->mode],
                               variant->format, variant->dtype, variant->path));
    rue_json_add(&object, "model:T config:o requested_images:n requested_batches:n job_images:n",
                 request->model, rue_json_config(&request->config, false), request->images, request->batches,
                 request->job_images);
    rue_json_add(&object,
                 "workload:o limit_time_ns:N limit_memory_bytes:N runner:t machine:t status:t reason:T",
                 rue_json_struct(rue_workload_fields, &request->workload, NULL), request->limits.time_ns,
                 request->limits.memory_bytes, life->runner, life->machine,
                 rue_outcome_names[result->outcome], result->reason);
    for (size_t i = 0; i < rue_trial_field_count; i++)
        rue_json_put(&object, rue_trial_fields[i].name, field_json(result, &rue_trial_fields[i]));
    rue_json_put(&object, "batch_ready_ns", times_json(result->batch_ready_ns, result->ready_count));
    rue_json_put(&object, "batch_compute_ns", times_json(result->batch_compute_ns, result->compute_count));
    rue_json_put(&object, "batch_images", times_json(result->batch_images, result->images_count));
    rue_json_put(&object, "batch_queued", times_json(result->batch_queued, result->queued_count));
    rue_json_add(&object, "job_ns:d expected_job_ns:d in_last_run:b disturbed:b command:T", life->job_ns,
                 compared ? cell->median_ns : NAN, life->variant != NULL, life->row.disturbed, command);
    return object;
}
