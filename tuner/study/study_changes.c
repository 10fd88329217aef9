#include "study_changes.h"

#include <stdlib.h>
#include <string.h>

#include "kept_findings.h"
#include "study_keep.h"
#include "study_key.h"

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

static rue_status add(struct rue_study *study, const struct rue_notice *notice, rue_error *error)
{
    if (study->notice_count < RUE_STUDY_NOTICES_MAX) study->notices[study->notice_count++] = *notice;
    rue_speed_history_add(&study->speeds, notice->trial,
                          (struct rue_speed){notice->load_log, notice->compute_log});
    return rue_store_doubt(study->store, notice->unsure, notice->unsure_end, error);
}

static rue_status take(struct rue_study *study, struct rue_kept_findings *kept, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < kept->notice_count; i++)
        status = add(study, &kept->notices[i], error);
    study->disturbed = kept->disturbed;
    study->disturbed_count = kept->disturbed_count;
    kept->disturbed = NULL; /* it has changed hands */
    return status;
}

/* Each run passes on what it took over, so the last one that is concerned knows all of it. */
rue_status rue_study_take_changes(struct rue_study *study, rue_error *error)
{
    bool taken = false;
    rue_status status = RUE_OK;
    for (size_t nth = 0; status == RUE_OK && !taken; nth++) {
        struct rue_kept_findings kept;
        char *text = NULL;
        status = rue_store_findings(study->store, nth, &text, error);
        if (status != RUE_OK || !text) return status;
        status = rue_kept_findings_read(text, RUE_STORE_FILE, &kept, error);
        free(text);
        if (status != RUE_OK) return status;
        taken = concern(&kept, study);
        if (taken) status = take(study, &kept, error);
        rue_kept_findings_close(&kept);
    }
    return status;
}

rue_status rue_study_note_change(struct rue_study *study, const struct rue_notice *notice, rue_error *error)
{
    rue_status status = add(study, notice, error);
    return status == RUE_OK ? rue_study_keep_changes(study, error) : status;
}

void rue_study_take_marks(struct rue_study *study)
{
    for (size_t i = 0; i < study->disturbed_count; i++) rue_study_mark(study, study->disturbed[i]);
}

void rue_study_mark(struct rue_study *study, uint64_t trial)
{
    for (size_t i = 0; i < study->row_count; i++) study->rows[i].disturbed |= study->rows[i].id == trial;
}

bool rue_study_is_unsure(const struct rue_study *study, size_t trial)
{
    for (size_t i = 0; i < study->notice_count; i++)
        if (trial >= study->notices[i].unsure && trial < study->notices[i].unsure_end) return true;
    return false;
}
