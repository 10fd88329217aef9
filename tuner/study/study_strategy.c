#include "study_strategy.h"

#include <string.h>

#include "interrupt.h"
#include "study_space.h"

bool rue_study_predicts(const struct rue_study *study)
{
    return study->strategy->estimate;
}

struct rue_strategy_setup rue_study_strategy_setup(const struct rue_study *study, size_t variant)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    const struct rue_setup_grid grid = {study->model_count, study->config_count, study->configs};
    struct rue_strategy_setup setup = rue_strategy_setup_of(grid, study->variants[variant].job_images);
    memcpy(setup.runner.measures, hello->measures, sizeof setup.runner.measures);
    setup.runner.whole_jobs = hello->whole_jobs;
    setup.runner.answers = hello->answers;
    setup.runner.cpus = rue_study_usable_cpus(hello);
    setup.runner.in_turn = strcmp(hello->loader, "rue") != 0;
    setup.job.drop_last = study->variants[variant].workload.drop_last;
    setup.seed = study->goal->workload.seed;
    setup.stop = rue_interrupt_status;
    return setup;
}
