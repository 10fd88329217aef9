#include "study_keep.h"

#include <stdlib.h>
#include <string.h>

#include "kept_findings.h"
#include "study_key.h"

static bool is_noted(const struct rue_study *study, uint64_t trial)
{
    for (size_t i = 0; i < study->disturbed_count; i++)
        if (study->disturbed[i] == trial) return true;
    return false;
}

/* Those of earlier runs, which this one may have had no use for, and its own; owned. */
static uint64_t *list_disturbed(const struct rue_study *study, size_t *count)
{
    uint64_t *list = calloc(study->disturbed_count + study->row_count + 1, sizeof *list);
    *count = study->disturbed_count;
    if (!list) return NULL;
    if (*count) memcpy(list, study->disturbed, *count * sizeof *list);
    for (size_t i = 0; i < study->row_count; i++)
        if (study->rows[i].disturbed && !is_noted(study, study->rows[i].id))
            list[(*count)++] = study->rows[i].id;
    return list;
}

static rue_status keep(struct rue_study *study, const struct rue_findings *findings, bool under_way,
                       rue_error *error)
{
    char keys[RUE_STUDY_VARIANTS_MAX][RUE_KEPT_KEY_BYTES], *text = NULL;
    struct rue_kept_beside beside = {
        .under_way = under_way, .variant_count = study->variant_count, .keys = keys};
    uint64_t *disturbed = list_disturbed(study, &beside.disturbed_count);
    if (!disturbed) return rue_fail_memory(error, "trials", study->row_count * sizeof *disturbed);
    beside.disturbed = disturbed;
    for (size_t v = 0; v < study->variant_count; v++) rue_study_key(study, v, keys[v]);
    rue_status status = rue_store_count(study->store, &beside.trials, error);
    if (status == RUE_OK)
        status = rue_kept_findings_write(findings, &study->goal->rules, &beside, &text, error);
    if (status == RUE_OK) status = rue_store_keep_findings(study->store, text, error);
    free(text);
    free(disturbed);
    return status;
}

rue_status rue_study_keep_findings(struct rue_study *study, const struct rue_findings *findings,
                                   rue_error *error)
{
    return keep(study, findings, false, error);
}

rue_status rue_study_keep_changes(struct rue_study *study, rue_error *error)
{
    struct rue_findings so_far = {.notice_count = study->notice_count, .notices = study->notices};
    snprintf(so_far.measured_with, sizeof so_far.measured_with, "%s",
             rue_runner_hello(study->runner)->loader);
    return keep(study, &so_far, true, error);
}
