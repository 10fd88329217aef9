#include "study_outcome.h"

#include <gsl/gsl_version.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "array.h"
#include "clock.h"
#include "further_answers.h"
#include "json_document.h"
#include "machine.h"
#include "recommendation_file.h"
#include "report.h"
#include "study_recording.h"
#include "tally.h"
#include "workload_json.h"

static rue_status list_disturbed(struct rue_study_ledger *ledger, rue_error *error)
{
    struct rue_findings_ledger *kept = &ledger->kept.facts;
    uint64_t *ids = realloc((void *)kept->disturbed, (ledger->row_count + 1) * sizeof *ids);
    if (!ids) return rue_fail_memory(error, "trials", ledger->row_count * sizeof *ids);
    kept->disturbed = ids;
    kept->disturbed_count = 0;
    for (size_t i = 0; i < ledger->row_count; i++)
        if (ledger->rows[i].trial.disturbed) ids[kept->disturbed_count++] = ledger->rows[i].trial.id;
    return RUE_OK;
}

/* The key of a variant in stored findings, see rue_recommendation_scenario. */
static void scenario_key(const struct rue_study_setup *setup, size_t variant, char out[RUE_LEDGER_KEY_BYTES])
{
    char workload[RUE_WORKLOAD_TEXT_BYTES];
    struct rue_store_scenario scenario = rue_study_scenario(setup, variant, RUE_NONE);
    rue_workload_canonical(&scenario.workload, workload);
    rue_recommendation_scenario(&scenario, workload, out);
}

/* Describes the part of the store that the findings use. */
static rue_status describe_ledger(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  bool under_way, rue_error *error)
{
    struct rue_findings_ledger *kept = &ledger->kept.facts;
    rue_status status = rue_store_count_trials(ledger->store, &kept->trials, error);
    if (status != RUE_OK) return status;
    for (size_t v = 0; v < setup->variant_count; v++) scenario_key(setup, v, ledger->kept.scenarios[v]);
    free(ledger->kept.rules_json);
    ledger->kept.rules_json = rue_recommendation_rules_json(&setup->goal.search.rules);
    if (!ledger->kept.rules_json) return rue_fail_memory(error, "rules", sizeof setup->goal.search.rules);
    kept->under_way = under_way;
    kept->scenario_count = setup->variant_count;
    kept->scenarios = (const char(*)[RUE_LEDGER_KEY_BYTES])ledger->kept.scenarios;
    kept->rules_json = ledger->kept.rules_json;
    return list_disturbed(ledger, error);
}

rue_status rue_study_keep_findings(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_findings *findings, bool under_way, rue_error *error)
{
    char *text = NULL;
    rue_status status = describe_ledger(setup, ledger, under_way, error);
    if (status != RUE_OK) return status;
    findings->ledger = &ledger->kept.facts;
    status = rue_report_json_text(findings, &text, error);
    if (status == RUE_OK) status = rue_store_save_findings(ledger->store, text, error);
    free(text);
    return status;
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

static void describe_runner(const struct rue_study_setup *setup, struct rue_runner_findings *out)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    COPY(out->measured_with, hello->loader);
    COPY(out->name, hello->runner);
    out->pins_memory = hello->varies[RUE_PIN_MEMORY];
    out->virtual_clock = hello->virtual_clock;
    describe_consumer(setup, out->consumer, sizeof out->consumer);
}

rue_status rue_study_note_under_way(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    rue_error *error)
{
    struct rue_findings so_far = {.run.rue_version = RUE_VERSION,
                                  .run.partial = true,
                                  .run.partial_reason = "under way",
                                  .changes.notice_count = ledger->notice_count,
                                  .changes.notices = ledger->notices,
                                  .changes.dropped_count = ledger->dropped_count,
                                  .changes.dropped = ledger->dropped};
    describe_runner(setup, &so_far.runner);
    return rue_study_keep_findings(setup, ledger, &so_far, true, error);
}

/* Whether the findings share a scenario with this study: data, runner and machine. */
static bool is_about_study(const struct rue_findings_ledger *kept, const struct rue_study_setup *setup)
{
    for (size_t v = 0; v < setup->variant_count; v++) {
        char key[RUE_LEDGER_KEY_BYTES];
        scenario_key(setup, v, key);
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
                          (struct rue_speed){log(notice->load_ratio), log(notice->compute_ratio)});
    return rue_store_mark_doubtful(ledger->store, notice->uncertain, notice->uncertain_end, NULL, error);
}

static rue_status add_dropped(struct rue_study_ledger *ledger, const struct rue_dropped_node *node,
                              rue_error *error)
{
    if (ledger->dropped_count < RUE_STUDY_DROPPED_MAX) ledger->dropped[ledger->dropped_count++] = *node;
    return rue_store_mark_doubtful(ledger->store, node->discarded, node->discarded_end, node->node, error);
}

/* The last findings of this study; `result`: of any study, by a run that ended. NULL: none. The caller closes
 * them. */
static rue_status find_kept(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                            bool result, struct rue_recommendation **out, rue_error *error)
{
    for (size_t nth = 0;; nth++) {
        char *text = NULL;
        *out = NULL;
        rue_status status = rue_store_load_findings(ledger->store, nth, &text, error);
        if (status != RUE_OK || !text) return status;
        status = rue_recommendation_read_kept(text, RUE_STORE_FILE, out, error);
        free(text);
        if (status != RUE_OK) return status;
        if (result ? !(*out)->ledger.under_way : is_about_study(&(*out)->ledger, setup)) return RUE_OK;
        rue_recommendation_close(*out);
    }
}

/* Each run also stores the changes that it loaded, so the last run of a scenario has all of them. */
rue_status rue_study_load_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error)
{
    struct rue_recommendation *kept;
    rue_status status = find_kept(setup, ledger, false, &kept, error);
    for (size_t i = 0; status == RUE_OK && kept && i < kept->found.changes.notice_count; i++)
        status = add_notice(ledger, &kept->found.changes.notices[i], error);
    for (size_t i = 0; status == RUE_OK && kept && i < kept->found.changes.dropped_count; i++)
        status = add_dropped(ledger, &kept->found.changes.dropped[i], error);
    rue_recommendation_close(kept);
    return status;
}

static bool copy_list(json_t *to, const json_t *from, const char *name)
{
    json_t *list = json_object_get(from, name);
    return !list || json_object_set(to, name, list) == 0;
}

/* The note of this run has all changes of the machine. If this fails, `rue show` ranks the trials. */
static void save_earlier(struct rue_study_ledger *ledger, json_t *earlier, const json_t *note)
{
    uint64_t trials;
    rue_status status = rue_store_count_trials(ledger->store, &trials, NULL);
    if (status != RUE_OK || !copy_list(earlier, note, "notices") ||
        !copy_list(earlier, note, "dropped_nodes") ||
        json_object_set_new(json_object_get(earlier, "ledger"), "trials", rue_json_integer(trials)) != 0)
        return;
    char *text = rue_json_dump(earlier, JSON_COMPACT);
    if (text) status = rue_store_save_findings(ledger->store, text, NULL);
    free(text);
}

bool rue_study_keep_earlier(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            const struct rue_findings *findings, bool failed, char *out, size_t bytes)
{
    struct rue_recommendation *note = NULL, *earlier = NULL;
    bool none = failed, kept = false,
         read = find_kept(setup, ledger, false, &note, NULL) == RUE_OK && note &&
                find_kept(setup, ledger, true, &earlier, NULL) == RUE_OK && earlier;
    for (size_t v = 0; v < findings->variant_count; v++)
        none &= findings->variants[v].selection->recommended == RUE_NONE;
    for (size_t i = 0, used = 0; read && i < earlier->count && used < bytes; i++) {
        const struct rue_recommended *part = &earlier->at[i];
        char name[128], label[RUE_CONFIG_TEXT_BYTES], key[RUE_LEDGER_KEY_BYTES];
        if (part->best == RUE_NONE) continue;
        for (size_t v = 0; v < findings->variant_count; v++) {
            scenario_key(setup, v, key);
            bool is_same = none || strcmp(key, earlier->ledger.scenarios[i]) == 0;
            kept |= is_same && findings->variants[v].selection->recommended == RUE_NONE;
        }
        rue_variant_describe(&part->found.variant, name, sizeof name);
        rue_config_label(&part->matrix->configs[part->best], label);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s for %s", used ? ", " : "", label, name);
    }
    if (kept && is_about_study(&earlier->ledger, setup)) save_earlier(ledger, earlier->root, note->root);
    if (!kept) out[0] = 0;
    rue_recommendation_close(note);
    rue_recommendation_close(earlier);
    return kept;
}

rue_status rue_study_note_change(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 const struct rue_notice *notice, rue_error *error)
{
    rue_status status = add_notice(ledger, notice, error);
    return status == RUE_OK ? rue_study_note_under_way(setup, ledger, error) : status;
}

rue_status rue_study_note_dropped(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  const struct rue_dropped_node *node, rue_error *error)
{
    rue_status status = add_dropped(ledger, node, error);
    return status == RUE_OK ? rue_study_note_under_way(setup, ledger, error) : status;
}

#define TEXT_OF(token) #token
#define TEXT(macro)    TEXT_OF(macro)

static void count_outcomes(const struct rue_study_ledger *ledger, size_t index,
                           struct rue_variant_findings *out)
{
    size_t best = out->selection->recommended;
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_trial_row *row = &ledger->rows[i].trial;
        bool other = row->request.measure != RUE_JOINT || ledger->rows[i].variant != index;
        if (other || ledger->rows[i].discarded) continue;
        rue_findings_count_trial(out, &row->result);
        rue_findings_count_sizes(out, &row->result);
        out->trials.disturbed += row->disturbed;
        if (best != RUE_NONE && rue_config_equal(&row->request.config, &out->matrix->configs[best]))
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
static void name_as_table(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                          size_t index, struct rue_variant_findings *out)
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
    for (size_t i = 0; i < ledger->row_count; i++)
        if (strcmp(ledger->rows[i].trial.request.variant.path, variant->variant.path) == 0)
            ledger->rows[i].trial.label = variant->variant.path;
}

rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            struct rue_baseline_findings *baselines, rue_error *error)
{
    const struct rue_ranking_rules *rules = &study->setup.goal.search.rules;
    if (!study->outcome.variants[variant].matrix) return rue_fail_memory(error, "a cost matrix", 0);
    *baselines = (struct rue_baseline_findings){0};
    baselines->count = study->setup.baselines.count;
    for (size_t b = 0; b < baselines->count; b++) {
        baselines->rows[b].config = study->setup.baselines.at[b].column;
        COPY(baselines->rows[b].name, study->setup.baselines.at[b].name);
    }
    rue_status status = rue_ranking_rules_select(rules, study->outcome.variants[variant].matrix, out, error);
    if (status == RUE_OK)
        rue_baseline_gains_find(study->outcome.variants[variant].matrix, rules->confidence, *out, baselines);
    return status;
}

static rue_status fill_variant(const struct rue_study *study, size_t index, struct rue_variant_findings *out,
                               rue_error *error)
{
    const struct rue_study_variant *variant = &study->setup.variants[index];
    const struct rue_runner_address *runner = &study->setup.goal.loader.runner;
    struct rue_selection *selection;
    struct rue_baseline_findings baselines;
    rue_status status = rue_study_select(study, index, &selection, &baselines, error);
    if (status != RUE_OK) return status;
    *out = (struct rue_variant_findings){
        .variant = variant->variant,
        .matrix = study->outcome.variants[index].matrix,
        .selection = selection,
        .goal = study->setup.goal.search.minimise,
        .baselines = baselines,
        .lengths = study->outcome.variants[index].lengths,
        .job.images = variant->job_images,
        .job.gpus = study->setup.goal.loader.gpus ? (uint64_t)variant->workload.world_size : 0,
        .job.ranks = runner->launch && !runner->farm ? (uint64_t)variant->workload.world_size : 0,
        .slow_rank = rue_rank_times_slowest(&study->ledger.rank_times[index]),
        .data.images = variant->opened.images,
        .data.bytes = variant->opened.bytes,
        .data.sample = variant->sample,
        .data.build_s_per_image = variant->build_s_per_image,
        .job.workload_known = true,
        .job.workload = variant->workload};
    snprintf(out->data.digest, sizeof out->data.digest, "%s", variant->opened.digest);
    snprintf(out->data.layout, sizeof out->data.layout, "%s", variant->opened.layout);
    snprintf(out->data.note, sizeof out->data.note, "%s", variant->opened.note);
    count_outcomes(&study->ledger, index, out);
    out->knowledge = study->outcome.variants[index].knowledge;
    if (study->setup.host.recording) {
        status = rue_study_judge_recording(&study->setup, &study->ledger, index, out, &out->replayed, error);
        if (status != RUE_OK) return rue_selection_close(selection), status;
        name_as_table(&study->setup, &study->ledger, index, out);
    }
    const struct rue_claim *claim = &study->outcome.variants[index].claim;
    if (study->outcome.variants[index].claimed && claim->verified &&
        claim->config == selection->recommended) {
        out->claim.bound_ratio = claim->bound_ratio;
        out->claim.prediction_error_ratio = claim->prediction_error_ratio;
        out->claim.measured_only = claim->prediction_error_ratio > 0;
        out->claim.confidence = study->setup.goal.search.confidence;
        out->interval =
            claim_interval(claim, &selection->rows[selection->recommended], out->claim.confidence);
    }
    return RUE_OK;
}

static bool copy_row(void *context, size_t index, struct rue_trial_row *out)
{
    const struct rue_study_ledger *ledger = context;
    if (index < ledger->row_count) *out = ledger->rows[index].trial;
    return index < ledger->row_count;
}

static void fill_provenance(struct rue_study *study, struct rue_findings *out)
{
    const struct rue_hello *hello = rue_study_hello(&study->setup);
    struct rue_machine machine = rue_machine_read();
    const char *name = strrchr(study->setup.place.folder, '/');
    COPY(out->study, name && name[1] ? name + 1 : study->setup.place.folder);
    COPY(out->folder, study->setup.place.folder);
    describe_runner(&study->setup, &out->runner);
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
    out->run.repeats_planned = study->setup.goal.search.repeats;
    out->run.partial = study->outcome.partial;
    out->run.reused_trials = study->ledger.reused;
    out->changes = study->outcome.changes;
    out->changes.notice_count = study->ledger.notice_count;
    out->changes.notices = study->ledger.notices;
    out->changes.dropped_count = study->ledger.dropped_count;
    out->changes.dropped = study->ledger.dropped;
    out->row_at = copy_row;
    out->row_context = &study->ledger;
}

rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out, rue_error *error)
{
    size_t count = study->setup.variant_count;
    struct rue_findings *findings = calloc(1, sizeof *findings);
    if (findings) findings->variants = calloc(count, sizeof *findings->variants);
    rue_status status =
        findings && findings->variants ? RUE_OK : rue_fail_memory(error, "findings", sizeof *findings);
    for (size_t v = 0; status == RUE_OK && v < count; v++) {
        status = fill_variant(study, v, &findings->variants[v], error);
        if (status != RUE_OK) break;
        findings->variant_count++;
        study->outcome.variants[v].matrix = NULL; /* it is the findings' */
    }
    for (size_t m = 0; m < study->setup.model_count; m++)
        study->outcome.profiles[m] = study->setup.models[m].profile_json;
    if (status == RUE_OK) {
        findings->profiles = study->outcome.profiles;
        fill_provenance(study, findings);
        status = rue_further_answers_find(findings, &study->setup.goal.search.rules, error);
        if (status != RUE_OK) rue_further_answers_close(findings);
    }
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_tally_findings_close(findings);
    return status;
}
