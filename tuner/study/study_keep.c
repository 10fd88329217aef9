#include "study_keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "recommendation_file.h"
#include "report.h"
#include "study_trials.h"

static bool is_noted(const struct rue_study_ledger *ledger, uint64_t trial)
{
    for (size_t i = 0; i < ledger->disturbed_count; i++)
        if (ledger->disturbed[i] == trial) return true;
    return false;
}

/* Those of earlier runs stay, which this one may have had no use for. */
static rue_status note_disturbed(struct rue_study_ledger *ledger, rue_error *error)
{
    for (size_t i = 0; i < ledger->row_count; i++) {
        if (!ledger->rows[i].trial.disturbed || is_noted(ledger, ledger->rows[i].trial.id)) continue;
        rue_status status =
            rue_array_grow(&ledger->disturbed, &ledger->disturbed_capacity, ledger->disturbed_count + 1,
                           sizeof *ledger->disturbed, "disturbed trials", error);
        if (status != RUE_OK) return status;
        ledger->disturbed[ledger->disturbed_count++] = ledger->rows[i].trial.id;
    }
    return RUE_OK;
}

/* What of the store the findings rest on. */
static rue_status describe_ledger(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  bool under_way, rue_error *error)
{
    struct rue_findings_ledger *kept = &ledger->kept.facts;
    rue_status status = note_disturbed(ledger, error);
    if (status == RUE_OK) status = rue_store_count(ledger->store, &kept->trials, error);
    if (status != RUE_OK) return status;
    for (size_t v = 0; v < setup->variant_count; v++) rue_study_key(setup, v, ledger->kept.scenarios[v]);
    free(ledger->kept.rules_json);
    ledger->kept.rules_json = rue_recommendation_rules_json(&setup->goal.search.rules);
    if (!ledger->kept.rules_json) return rue_fail_memory(error, "rules", sizeof setup->goal.search.rules);
    kept->under_way = under_way;
    kept->scenario_count = setup->variant_count;
    kept->scenarios = (const char(*)[RUE_LEDGER_KEY_BYTES])ledger->kept.scenarios;
    kept->disturbed_count = ledger->disturbed_count;
    kept->disturbed = ledger->disturbed;
    kept->rules_json = ledger->kept.rules_json;
    return RUE_OK;
}

static rue_status keep(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                       struct rue_findings *findings, bool under_way, rue_error *error)
{
    char *text = NULL;
    rue_status status = describe_ledger(setup, ledger, under_way, error);
    if (status != RUE_OK) return status;
    findings->ledger = &ledger->kept.facts;
    status = rue_report_json_text(findings, &text, error);
    if (status == RUE_OK) status = rue_store_keep_findings(ledger->store, text, error);
    free(text);
    return status;
}

rue_status rue_study_keep_findings(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_findings *findings, rue_error *error)
{
    return keep(setup, ledger, findings, false, error);
}

static rue_status keep_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               rue_error *error)
{
    struct rue_findings so_far = {.rue_version = RUE_VERSION,
                                  .partial = true,
                                  .partial_reason = "under way",
                                  .notice_count = ledger->notice_count,
                                  .notices = ledger->notices};
    snprintf(so_far.measured_with, sizeof so_far.measured_with, "%s", rue_study_hello(setup)->loader);
    return keep(setup, ledger, &so_far, true, error);
}

/* Whether they are about data that this study loads, too, with the same runner on the same machine. */
static bool concern(const struct rue_findings_ledger *kept, const struct rue_study_setup *setup)
{
    for (size_t v = 0; v < setup->variant_count; v++) {
        char key[RUE_LEDGER_KEY_BYTES];
        rue_study_key(setup, v, key);
        for (size_t k = 0; k < kept->scenario_count; k++)
            if (strcmp(kept->scenarios[k], key) == 0) return true;
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

static rue_status take_kept(struct rue_study_ledger *ledger, const struct rue_recommendation *kept,
                            rue_error *error)
{
    rue_status status = RUE_OK;
    size_t count = kept->ledger.disturbed_count;
    for (size_t i = 0; status == RUE_OK && i < kept->found.notice_count; i++)
        status = add_notice(ledger, &kept->notices[i], error);
    if (status == RUE_OK)
        status = rue_array_grow(&ledger->disturbed, &ledger->disturbed_capacity, count,
                                sizeof *ledger->disturbed, "disturbed trials", error);
    if (status != RUE_OK) return status;
    for (size_t i = 0; i < count; i++) ledger->disturbed[i] = kept->ledger.disturbed[i];
    ledger->disturbed_count = count;
    return RUE_OK;
}

/* Each run passes on what it took over, so the last one that is concerned knows all of it. */
rue_status rue_study_take_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error)
{
    bool taken = false;
    rue_status status = RUE_OK;
    for (size_t nth = 0; status == RUE_OK && !taken; nth++) {
        struct rue_recommendation *kept;
        char *text = NULL;
        status = rue_store_findings(ledger->store, nth, &text, error);
        if (status != RUE_OK || !text) return status;
        status = rue_recommendation_read_kept(text, RUE_STORE_FILE, false, &kept, error);
        free(text);
        if (status != RUE_OK) return status;
        taken = concern(&kept->ledger, setup);
        if (taken) status = take_kept(ledger, kept, error);
        rue_recommendation_close(kept);
    }
    return status;
}

rue_status rue_study_note_change(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 const struct rue_notice *notice, rue_error *error)
{
    rue_status status = add_notice(ledger, notice, error);
    return status == RUE_OK ? keep_changes(setup, ledger, error) : status;
}
