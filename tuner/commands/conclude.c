#include "conclude.h"

#include <string.h>

#include "findings_fill.h"
#include "interrupt.h"
#include "kept_findings.h"
#include "output.h"
#include "program_name.h"
#include "shell_quote.h"
#include "units.h"

/* Notes when a run with another loader or of a smaller space replaces a recommendation. */
static void note_replaced(const struct rue_study *study)
{
    const struct rue_study_setup *setup = &study->setup;
    char label[RUE_CONFIG_TEXT_BYTES], what[192];
    struct rue_recommendation *earlier;
    int64_t run_id;
    size_t included = 0;
    if (rue_kept_read_last(study->ledger.store, &run_id, &earlier, NULL) != RUE_OK || !earlier) return;
    const struct rue_recommended *part = earlier->at;
    if (earlier->count == 0) return rue_recommendation_close(earlier);
    for (size_t c = 0; c < setup->config_count; c++)
        included += rue_cost_matrix_config(part->matrix, &setup->configs[c]) != RUE_NONE;
    bool same_loader = strcmp(part->measured_with, rue_study_hello(setup)->loader) == 0;
    if (same_loader)
        snprintf(what, sizeof what, "out of %zu configurations, this run compared %zu",
                 part->matrix->config_count, setup->config_count);
    else
        snprintf(what, sizeof what, "for the loader %s, this run measured %s", part->measured_with,
                 rue_study_hello(setup)->loader);
    if ((!same_loader || included < part->matrix->config_count) && part->best != RUE_NONE) {
        rue_config_label(&part->matrix->configs[part->best], label);
        rue_progress_note(setup->progress,
                          "%s/%s is replaced: it recommended %s %s. "
                          "To get it back, run with the earlier options: no trial is measured twice",
                          setup->place.folder, rue_report_json.file, label, what);
    }
    rue_recommendation_close(earlier);
}

void rue_study_write(struct rue_study *study, const struct rue_findings *findings)
{
    const struct rue_study_setup *setup = &study->setup;
    if (findings->unsaved) return;
    note_replaced(study);
    /* A failure is in `lost`. */
    (void)!rue_output_write_reports(rue_reports, findings, setup->place.folder, study->end.written,
                                    sizeof study->end.written, &study->end.lost);
}

static void note_files(const struct rue_study *study, bool shown)
{
    const struct rue_study_setup *setup = &study->setup;
    char word[RUE_SHELL_WORD_BYTES];
    if (shown && study->end.written[0])
        rue_progress_note(setup->progress, "written: %s/%s, " RUE_STORE_FILE, setup->place.folder,
                          study->end.written);
    if (study->end.kept[0])
        rue_progress_note(setup->progress,
                          "kept the earlier result, %s: this run added %zu trials, too few to replace it. "
                          "To see it: %s show %s",
                          study->end.kept, study->ledger.run_trials, rue_program_name(),
                          rue_shell_word(setup->place.folder, word));
}

/* Whether the limit of the first batch excludes every configuration. */
static bool are_all_late(const struct rue_variant_findings *variant)
{
    size_t configs = variant->matrix->config_count, late = 0;
    for (size_t c = 0; c < configs; c++)
        for (size_t m = 0; m < variant->matrix->model_count; m++)
            if (rue_cost_matrix_cell(variant->matrix, m, c)->late) {
                late++;
                break;
            }
    return configs > 0 && late == configs;
}

static rue_status fail_late_batch(const struct rue_variant_findings *variant, rue_error *error)
{
    size_t config;
    double first_ns;
    char limit[RUE_UNIT_TEXT_BYTES], first[RUE_UNIT_TEXT_BYTES], label[RUE_CONFIG_TEXT_BYTES];
    rue_format_duration(variant->matrix->first_limit_ns, limit, sizeof limit);
    if (!rue_cost_matrix_earliest_first_batch(variant->matrix, &config, &first_ns))
        return rue_fail(error, RUE_INFEASIBLE,
                        "--max-first-batch %s cannot be checked, as the runner reports no first_batch_ns: "
                        "remove the option, or extend the runner",
                        limit);
    rue_config_label(&variant->matrix->configs[config], label);
    return rue_fail(error, RUE_INFEASIBLE,
                    "no configuration delivers its first batch within %s on every model; the earliest takes "
                    "%s, with %s: raise --max-first-batch above that",
                    limit, rue_format_duration((uint64_t)first_ns, first, sizeof first), label);
}

static rue_status judge_findings(const struct rue_findings *findings, rue_error *error)
{
    for (size_t v = 0; v < findings->variant_count; v++)
        if (are_all_late(&findings->variants[v])) return fail_late_batch(&findings->variants[v], error);
    return rue_findings_check_answer(findings, error);
}

rue_status rue_study_conclude(const struct rue_study *study, const struct rue_findings *findings,
                              const rue_error *shown, rue_error *error)
{
    const struct rue_study_end *end = &study->end;
    rue_error lost = end->lost;
    rue_status ran = end->ran;
    fflush(stdout);
    note_files(study, shown->status == RUE_OK);
    /* After a signal the reader is often gone too; that is not reported. */
    if (shown->status != RUE_OK && rue_interrupt_status() == RUE_OK)
        rue_fail(&lost, shown->status, "%s", shown->message);
    if (ran == RUE_OK && lost.status == RUE_OK) return judge_findings(findings, error);
    if (ran == RUE_OK) return rue_fail(error, lost.status, "%s", lost.message);
    bool ended = ran == RUE_INTERRUPTED || ran == RUE_TERMINATED;
    return rue_fail(error, lost.status == RUE_OK || ended ? ran : lost.status, "%s%s%s", end->why.message,
                    lost.status == RUE_OK ? "" : "; ", lost.message);
}
