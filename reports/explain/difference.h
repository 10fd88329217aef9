/* What changed from one study to another. Variants match by mode, format and dtype; if several do, also by
 * layout, path, name and digest. Models match by name, configurations by value. */
#ifndef RUE_DIFFERENCE_H
#define RUE_DIFFERENCE_H

#include <jansson.h>

#include "findings.h"
#include "section.h"

/* Without repeats, a change is reported if it is larger than this. */
#define RUE_DIFFERENCE_THRESHOLD 0.1

/* A cell that is ok in both studies. */
struct rue_changed_cell {
    size_t model, config[2]; /* row in the first matrix; columns in both */
    struct rue_change change;
    enum { RUE_CHANGE_NONE, RUE_CHANGE_FASTER, RUE_CHANGE_SLOWER } verdict;
};

/* The answer of one study in the matrix of the other one. */
struct rue_moved_answer {
    size_t config;           /* column there; RUE_NONE: none, or not in the space */
    struct rue_speedup loss; /* of the other study's answer over this one; confidence 0: unknown */
};

/* A variant that both studies have. */
struct rue_difference {
    const struct rue_findings *findings[2];
    const struct rue_variant_findings *variants[2];
    size_t common_models, common_configs;
    bool comparable; /* the times are, as the jobs have the same length and the same goal */
    size_t cell_count, slower, faster, unknown;
    struct rue_changed_cell *cells; /* [cell_count] by model, then in grid order */
    double median_ratio;            /* of the changes; NaN: no cell */
    double noise_ratio; /* smaller changes are noise: median over the cells of known noise; NaN: none */
    struct rue_moved_answer moved[2]; /* the first study's answer in the second one, and the reverse */
};

/* Compares variant `index` of the first study. `*out` is NULL if the second study has no such variant.
 * RUE_MEMORY. The caller closes `*out`. */
rue_status rue_difference_open(const struct rue_findings *const findings[2], size_t index,
                               struct rue_difference **out, rue_error *error) RUE_MUST_CHECK;
void rue_difference_close(struct rue_difference *difference);

/* Adds sentences and tables: for people at a terminal, or with `charts` and more rows for a page.
 * (difference_page.c) */
void rue_difference_put(struct rue_page *page, const struct rue_difference *difference, bool charts);

/* The same as an object; NULL: out of memory. */
json_t *rue_difference_json(const struct rue_difference *difference);

/* Adds what differs between the circumstances of both studies, and what that means. */
void rue_difference_put_circumstances(struct rue_page *page, const struct rue_findings *const findings[2]);

/* The same as an array. */
json_t *rue_difference_circumstances_json(const struct rue_findings *const findings[2]);

/* The variant of the second study that matches variant `index` of the first one; RUE_NONE: none, or it is
 * unknown which. */
size_t rue_difference_match(const struct rue_findings *const findings[2], size_t index);

/* The names of the variants that only study `side` has, as an array. */
json_t *rue_difference_unmatched_json(const struct rue_findings *const findings[2], size_t side);

#endif
