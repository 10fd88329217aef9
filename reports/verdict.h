/* The findings in sentences. Each function adds to the last sentence of the page, or adds nothing. */
#ifndef RUE_VERDICT_H
#define RUE_VERDICT_H

#include "comparison.h"
#include "job_parts.h"
#include "section.h"

/* The recommended configuration and its regret, or why no configuration can be recommended. */
void rue_verdict_use(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant);

/* The first words: "Use ", "So far: use ", "Not decided. Best so far: ". */
const char *rue_verdict_lead(const struct rue_findings *findings, const struct rue_variant_findings *variant);

/* Why the machine was busy; nothing if it was idle. */
void rue_verdict_confidence(struct rue_page *page, const struct rue_findings *findings);

/* Why no configuration is ranked, without a full stop. */
void rue_verdict_why_none(struct rue_page *page, const struct rue_variant_findings *variant);

/* The one configuration for several variants, and its regret on each. */
void rue_verdict_overall(struct rue_page *page, const struct rue_overall *overall);

/* The share of the job's time in which models wait for data with a configuration (rue_job_parts_waiting): of
 * the model that waits longest, and the mean. */
struct rue_waiting {
    size_t models;  /* that compute; 0: unknown */
    bool predicted; /* for some model */
    size_t slowed;  /* models that wait for more than 10 % */
    size_t slowest; /* model that waits longest */
    double most_ratio, mean_ratio;
    double perfect_ratio; /* how many times as fast a perfect loader would be; geometric mean, with the
                             models' weights */
};

/* (verdict_waiting.c) */
struct rue_waiting rue_waiting_find(const struct rue_findings *findings,
                                    const struct rue_breakdown *breakdown,
                                    const struct rue_variant_findings *variant, size_t config);

/* What models wait with the recommended configuration, and what a perfect loader would give. */
void rue_verdict_waiting(struct rue_page *page, const struct rue_variant_findings *variant,
                         const struct rue_waiting *waiting);

/* Below a variant's table, a sentence each: repeats that failed; with `steady`, the gain over baselines,
 * beside that of a perfect loader; the bound on other configurations. Needs a recommendation. */
void rue_verdict_evidence(struct rue_page *page, const struct rue_variant_findings *variant,
                          const struct rue_waiting *waiting, bool steady);

/* Directly below the table: why a configuration ranks above the recommended one. With `brief`, nothing if the
 * evidence about baselines says it. (verdict_notes.c) */
void rue_verdict_above(struct rue_page *page, const struct rue_variant_findings *variant, bool brief);

/* If a rank is slower than the others: which one, by how much, and why. (verdict_notes.c) */
void rue_verdict_slow_rank(struct rue_page *page, const struct rue_variant_findings *variant);

/* Also below the table: disturbed trials, replaced images and similar notes; configurations that are not
 * ranked. Unless `brief`, a configuration with more votes, and other job lengths. (verdict_notes.c) */
void rue_verdict_notes(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief);

/* " for raw folder photos data", which names one of several variants; nothing without `findings`. */
void rue_verdict_data(struct rue_page *page, const struct rue_findings *findings,
                      const struct rue_variant_findings *variant);

/* What a longer queue than that of the recommended configuration would gain. With `brief`, nothing if all
 * queues of the space have the same length. `findings`: see rue_verdict_data. (verdict_notes.c) */
void rue_verdict_queue(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief);

/* Whether batches of a changing size are faster than those of a fixed size, and by how much. Nothing if the
 * space has only one kind. `named`: says which variant. (verdict_batches.c) */
void rue_verdict_batches(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_variant_findings *variant, bool named);

/* Further answers: the smallest set of configurations that keeps every model near its best; the regret to
 * expect for a model that was not measured; a configuration that needs less memory. (verdict_notes.c) */
void rue_verdict_answers(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_variant_findings *variant);

/* The speed-up by preprocessed data, their size, and when converting them pays back.
 * (verdict_comparison.c) */
void rue_verdict_comparison(struct rue_page *page, const struct rue_comparison *comparison);

/* Says `lead`, then for how many models converting pays back, and after how many epochs on average. Says
 * nothing if that is unknown. (verdict_comparison.c) */
void rue_verdict_payback(struct rue_page *page, const struct rue_comparison *comparison, const char *lead);

/* Whether models sleep, on which device they were measured, and whether the machine is simulated; nothing if
 * all is real. (verdict_notes.c) */
void rue_verdict_simulated(struct rue_page *page, const struct rue_findings *findings);

/* At the end, a sentence each: changes of the machine; what regret is, and with `bounds` what a point is;
 * what was simulated. (verdict_notes.c) */
void rue_verdict_background(struct rue_page *page, const struct rue_findings *findings, bool bounds);

/* Whether the machine was too unsteady for an answer; whether the run ended early, and why. */
void rue_verdict_partial(struct rue_page *page, const struct rue_findings *findings);

/* A length of a job at which another configuration becomes the best: two digits, as it is predicted. */
uint64_t rue_verdict_round_images(uint64_t images);

#endif
