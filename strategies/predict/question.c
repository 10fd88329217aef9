#include "question.h"

#include <math.h>

struct rue_strategy_setup rue_strategy_setup_of(struct rue_setup_grid grid, uint64_t job_images)
{
    return (struct rue_strategy_setup){.grid = grid,
                                       .job.images = job_images,
                                       .aim = {.epsilon_ratio = 0.005, .confidence = 0.95, .repeats = 1},
                                       .budget.seconds = INFINITY,
                                       .runner = {.measures[RUE_JOINT] = true, .cpus = 1}};
}
