/* Why a configuration is not the best of its variant: where its time goes, how much it loses against the best
 * one in each part of the time, and what would have to change. */
#ifndef RUE_EXPLANATION_H
#define RUE_EXPLANATION_H

#include <jansson.h>

#include "job_parts.h"
#include "section.h"

struct rue_explained_model {
    struct rue_job_parts own, other;
    double regret_ratio; /* NaN: not ok */
};

struct rue_explanation {
    const struct rue_findings *findings;
    const struct rue_variant_findings *variant;
    size_t config;
    size_t other;            /* the recommended one or, if that is `config`, the next best; RUE_NONE: none */
    size_t rank;             /* from 1; 0: not ranked */
    bool noise_is_measured;  /* false: the usual noise of trials is assumed (see rue_speedup) */
    struct rue_speedup loss; /* of `other` over `config`; confidence 0: unknown */
    double own_value, other_value; /* the objective; NaN: not ranked */
    /* Its loading has to be faster by this factor to be as good as the recommended one; INFINITY: impossible;
     * NaN: unknown, or it is the recommended one. */
    double loading_ratio;
    double loading_floor;               /* the objective if its loading took no time; NaN: unknown */
    struct rue_explained_model *models; /* [model_count] */
};

/* Borrows findings and breakdown. RUE_MEMORY. The caller closes `*out`. */
rue_status rue_explanation_open(const struct rue_findings *findings, const struct rue_breakdown *breakdown,
                                size_t variant, size_t config, struct rue_explanation **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_explanation_close(struct rue_explanation *explanation);

/* Adds sentences and tables. (explanation_page.c) */
void rue_explanation_put(struct rue_page *page, const struct rue_explanation *explanation);

/* The same as an object; NULL: out of memory. */
json_t *rue_explanation_json(const struct rue_explanation *explanation);

/* The best ranked configuration that differs from it only in the knob; RUE_NONE: none, or the machine was
 * too unsteady to say. */
size_t rue_explanation_alternative(const struct rue_explanation *explanation, size_t knob);

#endif
