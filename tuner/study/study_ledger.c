#include "study_ledger.h"

#include <inttypes.h>
#include <math.h>

#include "suspension.h"

uint64_t rue_study_spent_ns(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger)
{
    if (rue_study_hello(setup)->virtual_clock) return ledger->clock.virtual_ns;
    return rue_suspension_awake_ns() - ledger->clock.start_ns - ledger->clock.suspended_ns;
}

void rue_study_count_cost(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          uint64_t started_ns, struct rue_trial_result *result)
{
    bool virtual_clock = rue_study_hello(setup)->virtual_clock;
    if (!virtual_clock && result->cost_ns == RUE_ABSENT) {
        uint64_t spent_ns = rue_study_spent_ns(setup, ledger); /* reported costs may be ahead of it */
        result->cost_ns = spent_ns > started_ns ? (int64_t)(spent_ns - started_ns) : 0;
    }
    uint64_t cost_ns = rue_study_cost_ns(result), end_ns = started_ns + cost_ns;
    if (end_ns > RUE_TRIAL_FIELD_MAX)
        rue_trial_result_fail(result, "with its cost (%" PRIu64 " ns) the run would take more than 9 years",
                              cost_ns);
    else if (virtual_clock && end_ns > ledger->clock.virtual_ns)
        ledger->clock.virtual_ns = end_ns; /* the latest of several nodes */
}

void rue_study_note_error(struct rue_ledger_row *row, struct rue_contention contention, double expected_s,
                          double expected_sd)
{
    const struct rue_trial_result *result = &row->trial.result;
    bool joint = result->outcome == RUE_TRIAL_OK && row->trial.measure == RUE_JOINT;
    if (!joint || result->end_to_end_ns <= 0 || !(expected_s > 0)) return;
    row->error = log((double)result->end_to_end_ns / 1e9 / contention.whole_ratio / expected_s);
    row->error_sd = hypot(RUE_STUDY_SPREAD * expected_sd, contention.sd);
}

bool rue_study_is_unsure(const struct rue_study_ledger *ledger, size_t trial)
{
    for (size_t i = 0; i < ledger->notice_count; i++)
        if (trial >= ledger->notices[i].uncertain && trial < ledger->notices[i].uncertain_end) return true;
    return false;
}
