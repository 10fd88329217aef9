#include "study_outcome.h"

#include <gsl/gsl_version.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "clock.h"
#include "findings_fill.h"
#include "json_document.h"
#include "kept_findings.h"
#include "machine.h"
#include "prose.h"
#include "report.h"
#include "study_contention.h"
#include "study_recording.h"
#include "study_space.h"
#include "workload_json.h"

/* The name of a variant's rows in the store, see rue_kept_scenario. */
static void scenario_key(const struct rue_study_setup *setup, size_t variant, char out[RUE_SCENARIO_BYTES])
{
    char workload[RUE_WORKLOAD_TEXT_BYTES];
    const struct rue_study_variant *own = &setup->variants[variant];
    const struct rue_store_origin origin = rue_study_origin(setup, variant, RUE_NONE);
    const struct rue_trial_request request = {.variant = own->variant, .job_images = own->job_images};
    rue_workload_canonical(&own->workload, workload);
    rue_kept_scenario(&origin, &request, workload, out);
}

static rue_status keep_findings(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                const struct rue_findings *findings, int64_t result, rue_error *error)
{
    struct rue_store_result row = {.result = result,
                                   .disturbed = malloc((ledger->row_count + 1) * sizeof *row.disturbed)};
    if (!row.disturbed) return rue_fail_memory(error, "trials", ledger->row_count * sizeof *row.disturbed);
    for (size_t i = 0; i < ledger->row_count; i++)
        if (ledger->rows[i].trial.disturbed) row.disturbed[row.disturbed_count++] = ledger->rows[i].trial.id;
    rue_status status = rue_kept_save(ledger->store, findings, &setup->goal.search.rules, row, error);
    free(row.disturbed);
    return status;
}

rue_status rue_study_keep_findings(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                   const struct rue_findings *findings, rue_error *error)
{
    return keep_findings(setup, ledger, findings, rue_store_run_id(ledger->store), error);
}

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

/* The device of the models; "" if there are several, or if it is unknown. */
static void describe_consumer(const struct rue_study_setup *setup, char *out, size_t bytes)
{
    const char *device = NULL;
    for (size_t m = 0; m < setup->model_count; m++) {
        const char *own = setup->models[m].profile.device;
        if (!own[0] || (device && strcmp(device, own) != 0)) {
            device = NULL;
            break;
        }
        device = own;
    }
    snprintf(out, bytes, "%s", device ? device : "");
}

void rue_study_describe_runner(const struct rue_study_setup *setup, struct rue_runner_findings *out)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    COPY(out->measured_with, hello->loader);
    COPY(out->name, hello->runner);
    out->pins_memory = hello->varies[RUE_PIN_MEMORY];
    out->virtual_clock = hello->virtual_clock;
    describe_consumer(setup, out->consumer, sizeof out->consumer);
}

/* Notes that the run is under way, or that its result is that of an earlier run. */
static rue_status note_run(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           int64_t result, rue_error *error)
{
    struct rue_findings so_far = {
        .run.rue_version = RUE_VERSION, .run.partial = true, .run.partial_reason = "under way"};
    rue_study_describe_runner(setup, &so_far.runner);
    so_far.variants = calloc(setup->variant_count, sizeof *so_far.variants);
    if (!so_far.variants) return rue_fail_memory(error, "findings", sizeof *so_far.variants);
    while (so_far.variant_count < setup->variant_count) {
        scenario_key(setup, so_far.variant_count, so_far.variants[so_far.variant_count].scenario);
        so_far.variant_count++;
    }
    rue_status status = keep_findings(setup, ledger, &so_far, result, error);
    free(so_far.variants);
    return status;
}

rue_status rue_study_note_under_way(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    rue_error *error)
{
    return note_run(setup, ledger, RUE_ABSENT, error);
}

/* Whether one of these scenarios is of this study: its data, runner and machine. */
static bool has_scenario(const struct rue_study_setup *setup, const char *scenario)
{
    char key[RUE_SCENARIO_BYTES];
    bool found = false;
    for (size_t v = 0; !found && v < setup->variant_count; v++) {
        scenario_key(setup, v, key);
        found = strcmp(scenario, key) == 0;
    }
    return found;
}

rue_status rue_study_note_change(struct rue_study_ledger *ledger, const struct rue_notice *notice,
                                 rue_error *error)
{
    struct rue_notice row = *notice;
    row.load_ratio = fmin(row.load_ratio, (double)RUE_TRIAL_FIELD_MAX); /* the most that the store reads */
    row.compute_ratio = fmin(row.compute_ratio, (double)RUE_TRIAL_FIELD_MAX);
    if (ledger->notice_count < RUE_STUDY_NOTICES_MAX) ledger->notices[ledger->notice_count++] = row;
    rue_speed_history_add(&ledger->speeds, row.trial,
                          (struct rue_speed){log(row.load_ratio), log(row.compute_ratio)});
    return rue_store_add_row(ledger->store, RUE_STORE_CHANGES, &row, error);
}

rue_status rue_study_note_dropped(struct rue_study_ledger *ledger, const struct rue_dropped_node *node,
                                  rue_error *error)
{
    struct rue_dropped_node row = *node;
    if (ledger->dropped_count < RUE_STUDY_DROPPED_MAX) ledger->dropped[ledger->dropped_count++] = row;
    return rue_store_add_row(ledger->store, RUE_STORE_EXCLUSIONS, &row, error);
}

rue_status rue_study_note_continued(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    rue_error *error)
{
    const char *scope =
        setup->goal.data.count ? "these data, job and machine" : "this loader, step, job and machine";
    char key[RUE_SCENARIO_BYTES], part[96] = "";
    uint64_t found = ledger->found_trials, own = 0;
    rue_status status = RUE_OK;
    if (!found) return RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < setup->variant_count; v++) {
        uint64_t count;
        scenario_key(setup, v, key);
        status = rue_store_count_scenario(ledger->store, key, &count, error);
        if (count > own) own = count;
    }
    if (own == 0)
        snprintf(part, sizeof part, ", none of %s: measuring again", scope);
    else if (own < found)
        snprintf(part, sizeof part, ", %" PRIu64 " of %s", own, scope);
    if (status == RUE_OK)
        rue_progress_note(setup->progress,
                          "continuing the study in %s/" RUE_STORE_FILE ": it has %" PRIu64
                          " trial%s%s (--fresh starts over)",
                          setup->place.folder, found, rue_prose_plural(found), part);
    if (setup->host.recording)
        ledger->found_trials = 0; /* stored trials of a table cost as much as new ones */
    return status;
}

/* The last run of a scenario of this study; 0: none. */
static rue_status find_last_run(const struct rue_study_setup *setup, struct rue_store *store, int64_t *out,
                                rue_error *error)
{
    struct rue_store_rows rows;
    rue_status status = rue_store_read_rows(store, RUE_STORE_FINDINGS, RUE_ABSENT, &rows, error);
    *out = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const struct rue_store_finding *finding = (struct rue_store_finding *)rows.at + i;
        if (has_scenario(setup, finding->scenario)) *out = finding->run_id;
    }
    rue_store_rows_close(&rows);
    return status;
}

/* Each run also stores the changes that it loaded, so the last run of a scenario has all of them. */
rue_status rue_study_load_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error)
{
    struct rue_store_rows changes = {0}, nodes = {0};
    int64_t last;
    rue_status status = find_last_run(setup, ledger->store, &last, error);
    if (status == RUE_OK)
        status = rue_store_read_rows(ledger->store, RUE_STORE_CHANGES, last, &changes, error);
    if (status == RUE_OK)
        status = rue_store_read_rows(ledger->store, RUE_STORE_EXCLUSIONS, last, &nodes, error);
    for (size_t i = 0; status == RUE_OK && i < changes.count; i++)
        status = rue_study_note_change(ledger, (struct rue_notice *)changes.at + i, error);
    for (size_t i = 0; status == RUE_OK && i < nodes.count; i++)
        status = rue_study_note_dropped(ledger, (struct rue_dropped_node *)nodes.at + i, error);
    rue_store_rows_close(&changes);
    rue_store_rows_close(&nodes);
    return status;
}

bool rue_study_keep_earlier(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            const struct rue_findings *findings, char *out, size_t bytes)
{
    struct rue_recommendation *earlier;
    int64_t run_id = RUE_ABSENT;
    bool none = true, kept = false, is_about_study = false,
         read = rue_kept_read_last(ledger->store, &run_id, &earlier, NULL) == RUE_OK && earlier;
    for (size_t v = 0; v < findings->variant_count; v++)
        none &= findings->variants[v].selection->recommended == RUE_NONE;
    for (size_t i = 0, used = 0; read && i < earlier->count && used < bytes; i++) {
        const struct rue_recommended *part = &earlier->at[i];
        char name[128], label[RUE_CONFIG_TEXT_BYTES];
        is_about_study |= has_scenario(setup, part->found.scenario);
        if (part->best == RUE_NONE) continue;
        for (size_t v = 0; v < findings->variant_count; v++) {
            const struct rue_variant_findings *own = &findings->variants[v];
            bool is_same = none || strcmp(own->scenario, part->found.scenario) == 0;
            kept |= is_same && own->selection->recommended == RUE_NONE;
        }
        rue_variant_describe(&part->found.variant, name, sizeof name);
        rue_config_label(&part->matrix->configs[part->best], label);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s for %s", used ? ", " : "", label, name);
    }
    /* If this fails, `rue show` ranks the trials. */
    if (kept && is_about_study && note_run(setup, ledger, run_id, NULL) != RUE_OK) run_id = RUE_ABSENT;
    if (!kept) out[0] = 0;
    rue_recommendation_close(earlier);
    return kept;
}

#define TEXT_OF(token) #token
#define TEXT(macro)    TEXT_OF(macro)

static void count_outcomes(const struct rue_study_ledger *ledger, size_t index,
                           struct rue_variant_findings *out)
{
    size_t best = out->selection->recommended;
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_ledger_trial *row = &ledger->rows[i].trial;
        bool other = row->measure != RUE_JOINT || ledger->rows[i].variant != index;
        if (other || ledger->rows[i].discarded) continue;
        rue_findings_count_trial(out, &row->result);
        rue_findings_count_sizes(out, &row->result);
        out->trials.disturbed += row->disturbed;
        if (best != RUE_NONE && rue_config_equal(&row->config, &out->matrix->configs[best]))
            rue_findings_count_queue(out, &row->result);
    }
}

/* Widens the interval to include the reported regrets, which are point estimates. */
static struct rue_regret_interval claim_interval(const struct rue_claim *claim,
                                                 const struct rue_ranking_row *row, double confidence)
{
    return (struct rue_regret_interval){.confidence = confidence,
                                        .bound_ratio = claim->bound_ratio,
                                        .mean_low = fmin(claim->mean_low, row->mean_regret_ratio),
                                        .mean_high = fmax(claim->mean_high, row->mean_regret_ratio),
                                        .worst_low = fmin(claim->worst_low, row->max_regret_ratio),
                                        .worst_high = fmax(claim->worst_high, row->max_regret_ratio)};
}

/* A variant of a table has only the table's name for it; its data are unknown. */
static void name_as_table(const struct rue_study_setup *setup, size_t index, struct rue_variant_findings *out)
{
    const struct rue_study_variant *variant = &setup->variants[index];
    out->label = variant->variant.path;
    out->models_unnamed = setup->host.recording->table.columns.field[RUE_COLUMN_MODEL] == SIZE_MAX;
    out->variant.path[0] = 0;
    if (strcmp(out->variant.format, RUE_TABLE_FORMAT) == 0) out->variant.format[0] = 0;
    out->data.images = 0;
    if (rue_study_assumes_job(setup)) {
        out->job.images = 0;
        out->lengths.count = 0;
    }
}

static struct rue_baseline_findings list_baselines(const struct rue_study_setup *setup)
{
    struct rue_baseline_findings out = {.count = setup->baselines.count};
    for (size_t b = 0; b < out.count; b++) {
        out.rows[b].config = setup->baselines.at[b].column;
        COPY(out.rows[b].name, setup->baselines.at[b].name);
    }
    return out;
}

rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            rue_error *error)
{
    const struct rue_cost_matrix *matrix = study->outcome.variants[variant].matrix;
    struct rue_baseline_findings baselines = list_baselines(&study->setup);
    return rue_findings_rank(matrix, &study->setup.goal.search.rules, &baselines, out, error);
}

/* What needs no ranking. */
static void describe_variant(const struct rue_study *study, size_t index, struct rue_variant_findings *out)
{
    const struct rue_study_variant *variant = &study->setup.variants[index];
    *out = (struct rue_variant_findings){
        .variant = variant->variant,
        .matrix = study->outcome.variants[index].matrix,
        .goal = study->setup.goal.search.minimise,
        .baselines = list_baselines(&study->setup),
        .lengths = study->outcome.variants[index].lengths,
        .job.images = variant->job_images,
        .job.deployment = rue_deployment_for(&study->setup.goal.loader.deployment, &variant->workload),
        .slow_rank = rue_rank_times_slowest(&study->ledger.rank_times[index]),
        .data.images = variant->opened.images,
        .data.bytes = variant->opened.bytes,
        .data.sample = variant->sample,
        .data.build_s_per_image = variant->build_s_per_image,
        .job.workload_known = true,
        .job.workload = variant->workload,
        .knowledge = study->outcome.variants[index].knowledge};
    scenario_key(&study->setup, index, out->scenario);
    COPY(out->data.digest, variant->opened.digest);
    COPY(out->data.layout, variant->opened.layout);
    COPY(out->data.note, variant->opened.note);
    if (study->setup.host.recording) name_as_table(&study->setup, index, out);
}

/* What depends on the ranking. */
static rue_status judge_variant(const struct rue_study *study, size_t index, bool is_unsteady,
                                struct rue_variant_findings *out, rue_error *error)
{
    const struct rue_claim *claim = &study->outcome.variants[index].claim;
    size_t best = out->selection->recommended;
    count_outcomes(&study->ledger, index, out);
    bool claims = study->outcome.variants[index].claimed && claim->config == best;
    if (is_unsteady) {
        rue_findings_withhold(out);
    } else if (claims) {
        out->claim = (struct rue_claim_findings){.bound_ratio = claim->bound_ratio,
                                                 .prediction_error_ratio = claim->prediction_error_ratio,
                                                 .measured_only = claim->prediction_error_ratio > 0,
                                                 .confidence = study->setup.goal.search.confidence};
        out->interval = claim_interval(claim, &out->selection->rows[best], out->claim.confidence);
    }
    if (!study->setup.host.recording) return RUE_OK;
    return rue_study_judge_recording(&study->setup, &study->ledger, index, out, &out->replayed, error);
}

/* A trial of the ledger as reports show it. */
static bool view_row(void *context, size_t index, struct rue_trial_row *out)
{
    const struct rue_study *study = context;
    if (index >= study->ledger.row_count) return false;
    const struct rue_ledger_row *row = &study->ledger.rows[index];
    const struct rue_ledger_trial *trial = &row->trial;
    const struct rue_study_variant *variant = &study->setup.variants[row->variant];
    *out = (struct rue_trial_row){.id = trial->id,
                                  .started_ns = trial->started_ns,
                                  .request = {.measure = trial->measure,
                                              .variant = variant->variant,
                                              .config = trial->config,
                                              .workload = variant->workload,
                                              .images = trial->images,
                                              .batches = trial->batches,
                                              .job_images = variant->job_images},
                                  .result = trial->result,
                                  .disturbed = trial->disturbed};
    if (row->model != RUE_NONE) COPY(out->request.model, study->setup.models[row->model].name);
    if (study->setup.host.recording) out->label = variant->variant.path;
    return true;
}

static void fill_provenance(struct rue_study *study, struct rue_findings *out)
{
    const struct rue_hello *hello = rue_study_hello(&study->setup);
    struct rue_machine machine = rue_machine_read();
    const char *name = strrchr(study->setup.place.folder, '/');
    COPY(out->study, name && name[1] ? name + 1 : study->setup.place.folder);
    COPY(out->folder, study->setup.place.folder);
    rue_study_describe_runner(&study->setup, &out->runner);
    COPY(out->run.rue_version, RUE_VERSION);
    COPY(out->machine.cpu, machine.cpu);
    COPY(out->machine.kernel, machine.kernel);
    COPY(out->machine.json, hello->machine_json);
    COPY(out->run.command_line, study->setup.goal.output.command_line);
    COPY(out->run.started, study->setup.started);
    COPY(out->run.partial_reason, study->outcome.partial_reason);
    snprintf(out->machine.libraries, sizeof out->machine.libraries,
             "libjpeg-turbo %s, SQLite %s, jansson %s, GSL %s", TEXT(LIBJPEG_TURBO_VERSION),
             sqlite3_libversion(), jansson_version_str(), gsl_version);
    out->machine.usable_cpus = machine.usable_cpus;
    out->machine.memory_bytes = machine.memory_bytes;
    out->run.duration_s = (double)(rue_clock_now_ns() - study->ledger.clock.start_ns) / 1e9;
    COPY(out->run.strategy, study->setup.plan.strategy->name);
    COPY(out->run.strategy_why, study->setup.plan.why);
    out->run.seed = study->setup.goal.loader.workload.seed;
    out->run.repeats_planned = study->setup.plan.repeats;
    out->run.partial = study->outcome.partial;
    out->run.accepts_busy = study->setup.goal.output.accepts_busy;
    out->run.reused_trials = study->ledger.reused;
    out->changes = study->outcome.changes;
    out->changes.notice_count = study->ledger.notice_count;
    out->changes.notices = study->ledger.notices;
    out->changes.dropped_count = study->ledger.dropped_count;
    out->changes.dropped = study->ledger.dropped;
    out->row_at = view_row;
    out->row_context = study;
}

rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out, rue_error *error)
{
    size_t count = study->setup.variant_count;
    struct rue_findings *findings = calloc(1, sizeof *findings);
    if (findings) findings->variants = calloc(count, sizeof *findings->variants);
    rue_status status =
        findings && findings->variants ? RUE_OK : rue_fail_memory(error, "findings", sizeof *findings);
    while (status == RUE_OK && findings->variant_count < count) {
        size_t v = findings->variant_count;
        if (!study->outcome.variants[v].matrix) status = rue_fail_memory(error, "a cost matrix", 0);
        if (status != RUE_OK) break;
        describe_variant(study, v, &findings->variants[findings->variant_count++]);
        study->outcome.variants[v].matrix = NULL; /* it is the findings' */
    }
    for (size_t m = 0; m < study->setup.model_count; m++)
        study->outcome.profiles[m] = study->setup.models[m].profile_json;
    if (status == RUE_OK) {
        findings->profiles = study->outcome.profiles;
        fill_provenance(study, findings);
        status = rue_findings_fill(findings, &study->setup.goal.search.rules, error);
    }
    if (status == RUE_OK)
        findings->changes.contention = rue_study_find_contention(
            &study->setup, &study->ledger, findings, rue_study_usable_cpus(rue_study_hello(&study->setup)));
    bool is_unsteady = status == RUE_OK && rue_findings_is_unsteady(findings);
    for (size_t v = 0; status == RUE_OK && v < count; v++)
        status = judge_variant(study, v, is_unsteady, &findings->variants[v], error);
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_findings_close(findings);
    return status;
}
