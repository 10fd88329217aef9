#include "study_keep.h"

#include <stdlib.h>
#include <string.h>

#include "kept_findings.h"
#include "study_trials.h"

static bool is_noted(const struct rue_study_ledger *ledger, uint64_t trial)
{
    for (size_t i = 0; i < ledger->disturbed_count; i++)
        if (ledger->disturbed[i] == trial) return true;
    return false;
}

/* Those of earlier runs, which this one may have had no use for, and its own; owned. */
static uint64_t *list_disturbed(const struct rue_study_ledger *ledger, size_t *count)
{
    uint64_t *list = calloc(ledger->disturbed_count + ledger->row_count + 1, sizeof *list);
    *count = ledger->disturbed_count;
    if (!list) return NULL;
    if (*count) memcpy(list, ledger->disturbed, *count * sizeof *list);
    for (size_t i = 0; i < ledger->row_count; i++)
        if (ledger->rows[i].disturbed && !is_noted(ledger, ledger->rows[i].id))
            list[(*count)++] = ledger->rows[i].id;
    return list;
}

static rue_status keep(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                       const struct rue_findings *findings, bool under_way, rue_error *error)
{
    char keys[RUE_STUDY_VARIANTS_MAX][RUE_KEPT_KEY_BYTES], *text = NULL;
    struct rue_kept_beside beside = {
        .under_way = under_way, .variant_count = setup->variant_count, .keys = keys};
    uint64_t *disturbed = list_disturbed(ledger, &beside.disturbed_count);
    if (!disturbed) return rue_fail_memory(error, "trials", ledger->row_count * sizeof *disturbed);
    beside.disturbed = disturbed;
    for (size_t v = 0; v < setup->variant_count; v++) rue_study_key(setup, v, keys[v]);
    rue_status status = rue_store_count(ledger->store, &beside.trials, error);
    if (status == RUE_OK)
        status = rue_kept_findings_write(findings, &setup->goal.search.rules, &beside, &text, error);
    if (status == RUE_OK) status = rue_store_keep_findings(ledger->store, text, error);
    free(text);
    free(disturbed);
    return status;
}

rue_status rue_study_keep_findings(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   const struct rue_findings *findings, rue_error *error)
{
    return keep(setup, ledger, findings, false, error);
}

rue_status rue_study_keep_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error)
{
    struct rue_findings so_far = {.notice_count = ledger->notice_count, .notices = ledger->notices};
    snprintf(so_far.measured_with, sizeof so_far.measured_with, "%s", rue_study_hello(setup)->loader);
    return keep(setup, ledger, &so_far, true, error);
}

/* Whether they are about data that this study loads, too, with the same runner on the same machine. */
static bool concern(const struct rue_kept_findings *kept, const struct rue_study_setup *setup)
{
    for (size_t v = 0; v < setup->variant_count; v++) {
        char key[RUE_KEPT_KEY_BYTES];
        rue_study_key(setup, v, key);
        for (size_t k = 0; k < kept->variant_count; k++)
            if (strcmp(kept->keys[k], key) == 0) return true;
    }
    return false;
}

static rue_status add_notice(struct rue_study_ledger *ledger, const struct rue_notice *notice,
                             rue_error *error)
{
    if (ledger->notice_count < RUE_STUDY_NOTICES_MAX) ledger->notices[ledger->notice_count++] = *notice;
    rue_speed_history_add(&ledger->speeds, notice->trial,
                          (struct rue_speed){notice->load_log, notice->compute_log});
    return rue_store_doubt(ledger->store, notice->unsure, notice->unsure_end, error);
}

static rue_status take_kept(struct rue_study_ledger *ledger, struct rue_kept_findings *kept, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < kept->notice_count; i++)
        status = add_notice(ledger, &kept->notices[i], error);
    ledger->disturbed = kept->disturbed;
    ledger->disturbed_count = kept->disturbed_count;
    kept->disturbed = NULL; /* it has changed hands */
    return status;
}

/* Each run passes on what it took over, so the last one that is concerned knows all of it. */
rue_status rue_study_take_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error)
{
    bool taken = false;
    rue_status status = RUE_OK;
    for (size_t nth = 0; status == RUE_OK && !taken; nth++) {
        struct rue_kept_findings kept;
        char *text = NULL;
        status = rue_store_findings(ledger->store, nth, &text, error);
        if (status != RUE_OK || !text) return status;
        status = rue_kept_findings_read(text, RUE_STORE_FILE, &kept, error);
        free(text);
        if (status != RUE_OK) return status;
        taken = concern(&kept, setup);
        if (taken) status = take_kept(ledger, &kept, error);
        rue_kept_findings_close(&kept);
    }
    return status;
}

rue_status rue_study_note_change(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 const struct rue_notice *notice, rue_error *error)
{
    rue_status status = add_notice(ledger, notice, error);
    return status == RUE_OK ? rue_study_keep_changes(setup, ledger, error) : status;
}
