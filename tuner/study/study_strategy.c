#include "study_strategy.h"

bool rue_study_predicts(const struct rue_study *study)
{
    return study->strategy->estimate;
}
