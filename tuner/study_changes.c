/* Changes of the machine that earlier runs of a study noticed. */
#include <stdlib.h>
#include <string.h>

#include "study.h"

void rue_study_key(const struct rue_study *study, size_t variant, char out[RUE_KEPT_KEY_BYTES])
{
    char workload[RUE_WORKLOAD_TEXT_BYTES], whole[RUE_STORE_KEY_BYTES];
    struct rue_store_scenario scenario = rue_study_scenario(study, variant, RUE_NONE);
    rue_workload_canonical(&scenario.workload, workload);
    rue_store_scenario_key(&scenario, workload, whole);
    rue_kept_key(whole, out);
}

/* Whether they are about data that this study loads, too, with the same runner on the same machine. */
static bool concern(const struct rue_kept_findings *kept, const struct rue_study *study)
{
    for (size_t v = 0; v < study->variant_count; v++) {
        char key[RUE_KEPT_KEY_BYTES];
        rue_study_key(study, v, key);
        for (size_t k = 0; k < kept->variant_count; k++)
            if (strcmp(kept->keys[k], key) == 0) return true;
    }
    return false;
}

rue_status rue_study_take_changes(struct rue_study *study, rue_error *error)
{
    struct rue_kept_findings kept;
    char *text = NULL;
    rue_status status = rue_store_findings(study->store, &text, error);
    if (status != RUE_OK || !text) return status;
    status = rue_kept_findings_read(text, RUE_STORE_FILE, &kept, error);
    free(text);
    if (status != RUE_OK) return status;
    size_t count = concern(&kept, study) ? kept.notice_count : 0;
    for (size_t i = 0; status == RUE_OK && i < count; i++)
        status = rue_study_note_change(study, &kept.notices[i], error);
    rue_kept_findings_close(&kept);
    return status;
}

rue_status rue_study_note_change(struct rue_study *study, const struct rue_notice *notice, rue_error *error)
{
    if (study->notice_count < RUE_STUDY_NOTICES_MAX) study->notices[study->notice_count++] = *notice;
    rue_speed_history_add(&study->speeds, notice->trial,
                          (struct rue_speed){notice->load_log, notice->compute_log});
    return rue_store_doubt(study->store, notice->unsure, notice->unsure_end, error);
}

bool rue_study_is_unsure(const struct rue_study *study, size_t trial)
{
    for (size_t i = 0; i < study->notice_count; i++)
        if (trial >= study->notices[i].unsure && trial < study->notices[i].unsure_end) return true;
    return false;
}
