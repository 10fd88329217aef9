/* What a strategy that predicts will try first, as far as it is known before. */
#ifndef RUE_STUDY_PROBES_H
#define RUE_STUDY_PROBES_H

#include "study.h"

/* How many trials of the loader alone and of the models alone, and the seconds that they are expected to
 * take; not finite where that is not known. Both 0 where the runner has joint trials alone. */
struct rue_study_probes {
    size_t load, compute;
    double expected_s;
};
struct rue_study_probes rue_study_count_probes(const struct rue_study *study);

#endif
