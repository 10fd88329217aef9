#include "breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"

enum { REFERENCES_MAX = 64 };

/* The first trials of the loader or of a model alone; later ones are compared with them. */
struct reference {
    enum rue_measure measure;
    size_t variant;
    struct rue_config config;
    char model[RUE_MODEL_NAME_BYTES];
    uint64_t images;
    double ns;
};

struct walk {
    const struct rue_findings *findings;
    struct rue_breakdown *breakdown;
    size_t reference_count;
    struct reference references[REFERENCES_MAX];
    size_t stride; /* one of so many successful trials becomes a point */
};

void rue_breakdown_close(struct rue_breakdown *breakdown)
{
    if (!breakdown) return;
    for (size_t v = 0; breakdown->cells && v < breakdown->variant_count; v++) free(breakdown->cells[v]);
    free(breakdown->cells);
    free(breakdown->points);
    free(breakdown->failures);
    free(breakdown);
}

const struct rue_parts *rue_breakdown_cell(const struct rue_breakdown *breakdown,
                                           const struct rue_findings *findings, size_t variant, size_t model,
                                           size_t config)
{
    const struct rue_parts *parts =
        &breakdown->cells[variant][model * findings->variants[variant].matrix->config_count + config];
    return parts->count ? parts : NULL;
}

static size_t find_variant(const struct rue_findings *findings, const struct rue_trial_row *row)
{
    const struct rue_variant *asked = &row->request.variant;
    bool ranks = rue_findings_compares_ranks(findings);
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant *own = &findings->variants[v].variant;
        const char *label = findings->variants[v].label;
        const struct rue_job_findings *job = &findings->variants[v].job;
        if (ranks && ((uint64_t)row->request.workload.world_size != job->deployment.ranks ||
                      row->request.job_images != job->images))
            continue;
        if (label || row->label ? label && row->label && strcmp(label, row->label) == 0
                                : own->mode == asked->mode && strcmp(own->format, asked->format) == 0 &&
                                      strcmp(own->dtype, asked->dtype) == 0 &&
                                      (!own->path[0] || strcmp(own->path, asked->path) == 0))
            return v;
    }
    return RUE_NONE;
}

static double known(int64_t value)
{
    return value == RUE_ABSENT ? NAN : (double)value;
}

const char *const rue_part_names[RUE_PART_COUNT] = {"first batch", "waiting for data", "copying", "computing",
                                                    "shut-down"};

double rue_parts_sum(const double ns[RUE_PART_COUNT])
{
    double sum = 0;
    for (size_t i = 0; i < RUE_PART_COUNT; i++) sum += ns[i];
    return sum;
}

void rue_parts_put(struct rue_page *page, const double ns[RUE_PART_COUNT])
{
    static const char *const keys[RUE_PART_COUNT] = {"first_batch_ns", "load_wait_ns", "h2d_ns", "compute_ns",
                                                     "shutdown_ns"};
    for (size_t i = 0; i < RUE_PART_COUNT; i++) {
        const struct rue_table_column column = {keys[i], rue_part_names[i], RUE_UNIT_DURATION,
                                                .number = ns[i]};
        rue_page_put(page, &column, 1);
    }
}

void rue_parts_add(struct rue_parts *parts, const struct rue_trial_result *result)
{
    double first = fmax(known(result->first_batch_ns), 0), wait = fmax(known(result->load_wait_ns), 0),
           compute = fmax(known(result->compute_ns), 0), shutdown = fmax(known(result->shutdown_ns), 0),
           device = fmax(known(result->device_ns), 0);
    double copy =
        fmin(fmax(known(result->h2d_ns), 0), fmax(compute - device, 0)); /* the rest overlaps kernels */
    uint64_t images = result->images > 0 ? (uint64_t)result->images : 0;
    if (result->end_to_end_ns <= 0 || images < parts->images) return;
    if (images > parts->images) *parts = (struct rue_parts){.images = images};
    wait = fmax(wait - first, 0);
    const double ns[RUE_PART_COUNT] = {first, wait, copy, compute - copy, shutdown};
    for (size_t i = 0; i < RUE_PART_COUNT; i++) parts->ns[i] += ns[i];
    parts->count++;
    parts->total_ns += fmax((double)result->end_to_end_ns, first + wait + compute + shutdown);
    parts->cpu_ratio += result->cpu_ratio;
    parts->anon_peak_bytes += known(result->anon_peak_bytes);
    parts->read_bytes += known(result->read_bytes);
}

static double reference_ratio(struct walk *walk, const struct rue_trial_row *row, size_t variant)
{
    const struct rue_trial_request *request = &row->request;
    double ns = (double)row->result.end_to_end_ns;
    for (size_t i = 0; i < walk->reference_count; i++) {
        const struct reference *first = &walk->references[i];
        if (first->measure == request->measure && first->variant == variant &&
            first->images == request->images && strcmp(first->model, request->model) == 0 &&
            rue_config_equal(&first->config, &request->config))
            return ns / first->ns;
    }
    if (walk->reference_count < REFERENCES_MAX) {
        struct reference *first = &walk->references[walk->reference_count++];
        *first = (struct reference){request->measure, variant, request->config, "", request->images, ns};
        memcpy(first->model, request->model, sizeof first->model);
    }
    return 1;
}

static double joint_ratio(const struct rue_variant_findings *variant, const struct rue_trial_row *row,
                          size_t model, size_t config)
{
    bool predicted;
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, config);
    uint64_t job = variant->job.images;
    double ns = job ? rue_job_time_ns(&row->result, job, variant->job.workload.drop_last, &predicted)
                    : (double)row->result.end_to_end_ns;
    return ns > 0 && cell->median_ns > 0 && variant->goal == RUE_GOAL_TIME ? ns / cell->median_ns : 1;
}

/* Drops every other point of the successful trials once there are too many. */
static void thin_points(struct walk *walk)
{
    struct rue_breakdown *breakdown = walk->breakdown;
    size_t kept = 0, seen = 0;
    for (size_t i = 0; i < breakdown->point_count; i++) {
        bool plain = breakdown->points[i].kind <= RUE_KIND_COMPUTE || kept > RUE_POINTS_MAX / 2;
        if (!plain || seen++ % 2 == 0) breakdown->points[kept++] = breakdown->points[i];
    }
    breakdown->point_count = kept;
    walk->stride *= 2;
}

static void add_point(struct walk *walk, const struct rue_trial_row *row, double ratio)
{
    struct rue_breakdown *breakdown = walk->breakdown;
    enum rue_trial_kind kind = row->result.outcome != RUE_TRIAL_OK   ? RUE_KIND_UNSUCCESSFUL
                               : row->disturbed                      ? RUE_KIND_DISTURBED
                               : row->request.measure == RUE_LOAD    ? RUE_KIND_LOADER
                               : row->request.measure == RUE_COMPUTE ? RUE_KIND_COMPUTE
                                                                     : RUE_KIND_JOINT;
    if (kind <= RUE_KIND_COMPUTE && breakdown->trial_count % walk->stride) return;
    if (breakdown->point_count == RUE_POINTS_MAX) thin_points(walk);
    if (breakdown->point_count == RUE_POINTS_MAX) return;
    breakdown->points[breakdown->point_count++] =
        (struct rue_trial_point){row->id, row->started_ns, kind, isfinite(ratio) && ratio > 0 ? ratio : 1};
}

/* Without what the row only borrows. */
static void add_failure(struct rue_breakdown *breakdown, const struct rue_trial_row *row, size_t variant)
{
    size_t number = breakdown->failure_count++;
    if (number >= RUE_FAILURES_MAX) return;
    struct rue_failed_trial *failure = &breakdown->failures[number];
    *failure = (struct rue_failed_trial){*row, variant};
    failure->row.label = NULL;
    rue_trial_result_drop_lists(&failure->row.result);
}

static void add_row(struct walk *walk, const struct rue_trial_row *row)
{
    struct rue_breakdown *breakdown = walk->breakdown;
    size_t v = find_variant(walk->findings, row);
    double ratio = 1;
    breakdown->trial_count++;
    if (v == RUE_NONE) return;
    const struct rue_variant_findings *variant = &walk->findings->variants[v];
    if (row->result.outcome != RUE_TRIAL_OK) {
        add_failure(breakdown, row, v);
    } else if (row->request.measure != RUE_JOINT) {
        ratio = reference_ratio(walk, row, v);
    } else {
        size_t model = rue_cost_matrix_model(variant->matrix, row->request.model);
        size_t config = rue_findings_config(variant->matrix, &row->request.config);
        if (model == SIZE_MAX || config == SIZE_MAX) return;
        rue_parts_add(&breakdown->cells[v][model * variant->matrix->config_count + config], &row->result);
        ratio = joint_ratio(variant, row, model, config);
    }
    add_point(walk, row, ratio);
}

static bool allocate(const struct rue_findings *findings, struct rue_breakdown *out)
{
    out->variant_count = findings->variant_count;
    out->cells = calloc(findings->variant_count + 1, sizeof *out->cells);
    out->points = calloc(RUE_POINTS_MAX, sizeof *out->points);
    out->failures = calloc(RUE_FAILURES_MAX, sizeof *out->failures);
    bool complete = out->cells && out->points && out->failures;
    for (size_t v = 0; complete && v < findings->variant_count; v++) {
        const struct rue_cost_matrix *matrix = findings->variants[v].matrix;
        out->cells[v] = calloc(matrix->model_count * matrix->config_count + 1, sizeof **out->cells);
        complete = out->cells[v];
    }
    return complete;
}

rue_status rue_breakdown_open(const struct rue_findings *findings, struct rue_breakdown **out,
                              rue_error *error)
{
    struct walk walk = {.findings = findings, .stride = 1};
    struct rue_trial_row row;
    struct rue_breakdown *breakdown = calloc(1, sizeof *breakdown);
    if (!breakdown || !allocate(findings, breakdown)) {
        rue_breakdown_close(breakdown);
        return rue_fail_memory(error, "a report", RUE_POINTS_MAX * sizeof *breakdown->points);
    }
    walk.breakdown = breakdown;
    for (size_t i = 0; findings->row_at && findings->row_at(findings->row_context, i, &row); i++)
        add_row(&walk, &row);
    *out = breakdown;
    return RUE_OK;
}
