#include "study_look.h"

#include "causes.h"
#include "clock.h"
#include "machine.h"

static const uint64_t most_ns = 50000000; /* five ticks of the kernel's count of CPU time */
enum { BUDGET_PART = 20 };

static rue_status look(struct rue_study *study, const char *when, char out[RUE_CAUSES_BYTES],
                       rue_error *error)
{
    struct rue_causes *causes;
    uint64_t budget_ns = study->goal->budget.time_ns, look_ns = most_ns;
    bool recommends = budget_ns || study->goal->budget.trials;
    if (!recommends || study->goal->dry_run || rue_runner_hello(study->runner)->virtual_clock) return RUE_OK;
    if (budget_ns && budget_ns / BUDGET_PART < look_ns) look_ns = budget_ns / BUDGET_PART;
    rue_status status = rue_causes_open("", &causes, error);
    if (status != RUE_OK) return status;
    rue_clock_sleep_until(rue_clock_now_ns() + look_ns);
    status = rue_causes_note(causes, 1, 0, error);
    struct rue_machine machine = rue_machine_read();
    if (status == RUE_OK) rue_causes_judge(causes, machine.online_cpus, machine.usable_cpus, out);
    if (status == RUE_OK && out[0])
        rue_progress_note(study->progress, "%s the machine is busy, so the answer is of low confidence: %s",
                          when, out);
    rue_causes_close(causes);
    return status;
}

rue_status rue_study_look_before(struct rue_study *study, rue_error *error)
{
    return look(study, "before the first trial", study->busy_before, error);
}

rue_status rue_study_look_after(struct rue_study *study, rue_error *error)
{
    return look(study, "after the last trial", study->busy_after, error);
}
