#include "study_contention.h"

static const double least_ratio = 1.1; /* by which a contended trial took longer */

static bool has_speed(const struct rue_study_ledger *ledger, const struct rue_ledger_row *row,
                      struct rue_speed speed)
{
    return !rue_speed_differs(rue_speed_history_at(&ledger->speeds, row->trial.id), speed);
}

static bool is_contended(const struct rue_ledger_row *row, int cpus)
{
    return rue_contention_find(&row->trial.result, cpus).whole_ratio > least_ratio;
}

/* The time of a usable trial; 0: it is not usable. */
static double usable_ns(const struct rue_ledger_row *row)
{
    bool usable = row->trial.result.outcome == RUE_TRIAL_OK && row->trial.result.end_to_end_ns > 0;
    return usable && !row->discarded ? (double)row->trial.result.end_to_end_ns : 0;
}

/* The speed at which most of the trials' time was spent. */
static struct rue_speed usual_speed(const struct rue_study_ledger *ledger)
{
    double ns[RUE_SPEED_CHANGES_MAX + 1] = {0};
    for (size_t i = 0; i < ledger->row_count; i++)
        ns[rue_speed_history_phase(&ledger->speeds, ledger->rows[i].trial.id)] += usable_ns(&ledger->rows[i]);
    return rue_speed_history_usual(&ledger->speeds, ns);
}

/* What a pair of configurations is compared by. */
struct comparison {
    const struct rue_study_ledger *ledger;
    size_t variant, model, best;
    int cpus;
    const struct rue_speed *speed; /* trials at this speed that are not contended; NULL: any */
};

static bool is_compared(const struct comparison *comparison)
{
    bool own = false, other = false;
    for (size_t i = 0; i < comparison->ledger->row_count && !(own && other); i++) {
        const struct rue_ledger_row *row = &comparison->ledger->rows[i];
        if (row->trial.measure != RUE_JOINT || row->variant != comparison->variant ||
            row->model != comparison->model || row->config == RUE_NONE || usable_ns(row) == 0)
            continue;
        if (comparison->speed &&
            (!has_speed(comparison->ledger, row, *comparison->speed) || is_contended(row, comparison->cpus)))
            continue;
        *(row->config == comparison->best ? &own : &other) = true;
    }
    return own && other;
}

/* Whether the best configuration of a variant has a clean comparison, or none at all. */
static bool has_clean_pair(struct comparison comparison, size_t model_count)
{
    bool any = false, clean = false;
    for (size_t m = 0; m < model_count && !clean; m++) {
        comparison.model = m;
        comparison.speed = NULL;
        any |= is_compared(&comparison);
        for (size_t phase = 0; phase <= comparison.ledger->speeds.count && !clean; phase++) {
            struct rue_speed speed = rue_speed_history_in_phase(&comparison.ledger->speeds, phase);
            comparison.speed = &speed;
            clean = is_compared(&comparison);
        }
    }
    return clean || !any;
}

struct rue_contention_findings rue_study_find_contention(const struct rue_study_setup *setup,
                                                         const struct rue_study_ledger *ledger,
                                                         const struct rue_findings *findings, int cpus)
{
    struct rue_contention_findings out = {.cpus = cpus, .has_clean_pair = true};
    struct rue_speed usual = usual_speed(ledger);
    double sum_ns = 0, affected_ns = 0, contended_ns = 0, other_ns = 0;
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_ledger_row *row = &ledger->rows[i];
        double ns = usable_ns(row);
        bool contended = is_contended(row, cpus);
        sum_ns += ns;
        if (contended || !has_speed(ledger, row, usual)) affected_ns += ns;
        if (!contended) continue;
        contended_ns += ns;
        other_ns += rue_contention_find(&row->trial.result, cpus).other_cpus * ns;
    }
    if (!(affected_ns > 0)) return out;
    out.affected_ratio = affected_ns / sum_ns;
    out.contended_ratio = contended_ns / sum_ns;
    out.other_cpus = contended_ns > 0 ? other_ns / contended_ns : 0;
    for (size_t v = 0; v < findings->variant_count; v++) {
        struct comparison comparison = {.ledger = ledger,
                                        .variant = v,
                                        .best = findings->variants[v].selection->recommended,
                                        .cpus = cpus};
        if (comparison.best != RUE_NONE) out.has_clean_pair &= has_clean_pair(comparison, setup->model_count);
    }
    return out;
}
