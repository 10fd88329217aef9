/* Whose a trial is: the data, how they are loaded, the model, and the runner on its machine. */
#ifndef RUE_STUDY_KEY_H
#define RUE_STUDY_KEY_H

#include "kept_findings.h"
#include "study.h"

/* Of a variant and a model (RUE_NONE: none). */
struct rue_store_scenario rue_study_scenario(const struct rue_study *study, size_t variant, size_t model);

/* Which rows a variant is about, in what the store keeps of a run. */
void rue_study_key(const struct rue_study *study, size_t variant, char out[RUE_KEPT_KEY_BYTES]);

#endif
