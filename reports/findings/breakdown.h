/* A summary of a study's trials: the parts of their time, the order in which they ran, and those that failed.
 * It is made in one walk over the trials. Its size does not depend on their number. */
#ifndef RUE_BREAKDOWN_H
#define RUE_BREAKDOWN_H

#include "findings.h"
#include "section.h"

/* The parts of a trial's time. */
enum {
    RUE_PART_FIRST, /* until the first batch */
    RUE_PART_WAIT,  /* for later batches */
    RUE_PART_COPY,
    RUE_PART_COMPUTE,
    RUE_PART_SHUTDOWN,
    RUE_PART_COUNT
};
extern const char *const rue_part_names[RUE_PART_COUNT]; /* "first batch" */

double rue_parts_sum(const double ns[RUE_PART_COUNT]);

/* Adds a column for each part to the last row. */
void rue_parts_put(struct rue_page *page, const double ns[RUE_PART_COUNT]);

/* Sums over the longest joint trials of a cell. */
struct rue_parts {
    size_t count; /* 0: none */
    uint64_t images;
    double total_ns, ns[RUE_PART_COUNT];
    double cpu_ratio, anon_peak_bytes, read_bytes; /* NaN: some trial lacks it */
};

enum rue_trial_kind {
    RUE_KIND_JOINT,
    RUE_KIND_LOADER,  /* the loader alone: a reference or a probe */
    RUE_KIND_COMPUTE, /* the model alone */
    RUE_KIND_DISTURBED,
    RUE_KIND_UNSUCCESSFUL,
    RUE_TRIAL_KINDS
};

struct rue_trial_point {
    uint64_t id, started_ns;
    enum rue_trial_kind kind;
    double ratio; /* its time / the time of its cell, or of the first reference of its kind; 1: no time */
};

struct rue_failed_trial {
    struct rue_trial_row row;
    size_t variant;
};

enum { RUE_POINTS_MAX = 800, RUE_FAILURES_MAX = 40 };

struct rue_breakdown {
    size_t variant_count;
    struct rue_parts **cells; /* [variant_count][models * configs] */
    size_t trial_count, failure_count;
    size_t point_count; /* a selection, if there are more than RUE_POINTS_MAX */
    struct rue_trial_point *points;
    struct rue_failed_trial *failures; /* the first RUE_FAILURES_MAX */
};

/* Adds a trial. One of more images than those before replaces their sums; one of fewer is ignored. */
void rue_parts_add(struct rue_parts *parts, const struct rue_trial_result *result);

/* RUE_MEMORY. The caller closes `*out`, which borrows from the findings. */
rue_status rue_breakdown_open(const struct rue_findings *findings, struct rue_breakdown **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_breakdown_close(struct rue_breakdown *breakdown);

/* NULL: no trial. */
const struct rue_parts *rue_breakdown_cell(const struct rue_breakdown *breakdown,
                                           const struct rue_findings *findings, size_t variant, size_t model,
                                           size_t config);

#endif
