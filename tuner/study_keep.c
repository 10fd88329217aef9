/* What a study found out goes into its store. */
#include <stdlib.h>

#include "kept_findings.h"
#include "study.h"

rue_status rue_study_keep_findings(struct rue_study *study, const struct rue_findings *findings,
                                   rue_error *error)
{
    char keys[RUE_STUDY_VARIANTS_MAX][RUE_KEPT_KEY_BYTES];
    uint64_t trials = 0;
    char *text = NULL;
    for (size_t v = 0; v < study->variant_count; v++) rue_study_key(study, v, keys[v]);
    rue_status status = rue_store_count(study->store, &trials, error);
    if (status == RUE_OK)
        status = rue_kept_findings_write(findings, &study->goal->rules, keys, trials, &text, error);
    if (status == RUE_OK) status = rue_store_keep_findings(study->store, text, error);
    free(text);
    return status;
}
