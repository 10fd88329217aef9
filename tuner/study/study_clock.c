#include "study_clock.h"

#include "suspension.h"

uint64_t rue_study_spent_ns(const struct rue_study *study)
{
    if (rue_runner_hello(study->runner)->virtual_clock) return study->virtual_ns;
    return rue_suspension_awake_ns() - study->start_ns - study->suspended_ns;
}

void rue_study_count_cost(struct rue_study *study, uint64_t started_ns, struct rue_trial_result *result)
{
    if (!rue_runner_hello(study->runner)->virtual_clock) {
        if (result->cost_ns == RUE_ABSENT)
            result->cost_ns = (int64_t)(rue_study_spent_ns(study) - started_ns);
        return;
    }
    int64_t cost = result->cost_ns != RUE_ABSENT ? result->cost_ns : result->end_to_end_ns;
    if (cost > 0) study->virtual_ns += (uint64_t)cost;
}
