#include "kept_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings_fill.h"
#include "hash.h"
#include "json_document.h"
#include "json_findings.h"

enum { WEIGHTS_MAX = 1 << 16, TOP_MAX = 1000000, WEIGHT_MAX = 1000000000 };

/* ---- the rules ---- */

#define RULES(member) RUE_FIELD_AT(rue_ranking_rules, member)

static const struct rue_field weight_fields[] = {
    {"model", RUE_FIELD_STRING, RUE_FIELD_AT(rue_model_weight, model)},
    {"weight", RUE_FIELD_REAL, RUE_FIELD_AT(rue_model_weight, weight), .most = WEIGHT_MAX},
    {0}};

static const struct rue_field rules_fields[] = {
    {"top_n", RUE_FIELD_NUMBER, RULES(top_n), .least = 1, .most = TOP_MAX},
    {"objective", RUE_FIELD_WORD, RULES(objective), .words = rue_objective_names},
    {"set_epsilon_ratio", RUE_FIELD_REAL, RULES(set_epsilon_ratio), .most = WEIGHT_MAX},
    {"confidence", RUE_FIELD_REAL, RULES(confidence), .most = 1},
    {"weights", RUE_FIELD_LIST, RULES(weights), RUE_FIELD_POINTED, .most = WEIGHTS_MAX,
     .fields = weight_fields, .count = offsetof(struct rue_ranking_rules, weight_count),
     .element = sizeof(struct rue_model_weight)},
    {0}};

static char *dump(json_t *object)
{
    char *text = rue_json_dump(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

void rue_kept_scenario(const struct rue_store_origin *origin, const struct rue_trial_request *request,
                       const char *workload, char out[RUE_SCENARIO_BYTES])
{
    char job[24];
    snprintf(job, sizeof job, "%" PRIu64, request->job_images);
    const struct rue_variant *variant = &request->variant;
    const char *const parts[] = {origin->data_digest,
                                 rue_mode_names[variant->mode],
                                 variant->format,
                                 variant->dtype,
                                 workload,
                                 job,
                                 origin->runner,
                                 origin->machine};
    uint64_t hash = RUE_HASH_START;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i) hash = rue_hash(hash, "\n", 1);
        hash = rue_hash(hash, parts[i], strlen(parts[i]));
    }
    snprintf(out, RUE_SCENARIO_BYTES, "%016" PRIx64, hash);
}

/* ---- saving ---- */

rue_status rue_kept_save(struct rue_store *store, const struct rue_findings *findings,
                         const struct rue_ranking_rules *rules, struct rue_store_result row, rue_error *error)
{
    rue_status status = rue_store_count_trials(store, &row.trials, error);
    if (status != RUE_OK) return status;
    row.rules = dump(rue_json_struct(rules_fields, rules, NULL));
    row.facts = dump(rue_json_run_facts(findings));
    struct rue_store_finding *rows = calloc(findings->variant_count + 1, sizeof *rows);
    struct rue_store_rows list = {RUE_STORE_FINDINGS, 0, rows};
    bool whole = rows && row.facts && row.rules;
    while (whole && list.count < findings->variant_count) {
        const struct rue_variant_findings *variant = &findings->variants[list.count];
        struct rue_store_finding *finding = &rows[list.count++];
        memcpy(finding->scenario, variant->scenario, sizeof finding->scenario);
        if (!variant->matrix) continue;
        finding->facts = dump(rue_json_variant_facts(findings, variant));
        whole = finding->facts != NULL;
    }
    status = whole ? rue_store_save_result(store, &row, &list, error)
                   : rue_fail_memory(error, "findings", sizeof *findings);
    rue_store_rows_close(&list);
    free(row.facts);
    free(row.rules);
    return status;
}

/* ---- reading ---- */

/* A JSON object of the store, which `out` keeps; NULL: it is none. */
static const json_t *parse_object(struct rue_json_reader *reader, const char *text,
                                  struct rue_recommendation *out)
{
    json_t *value = json_loads(text ? text : "", JSON_REJECT_DUPLICATES, NULL);
    bool is_object = json_is_object(value);
    if (!is_object) rue_json_refuse(reader, NULL, "a JSON object");
    if (value && json_array_append_new(out->root, value) != 0)
        reader->status = rue_fail_memory(reader->error, "findings", strlen(text));
    return is_object ? value : NULL;
}

/* The facts and rules of a run. */
static void read_result(struct rue_json_reader *reader, struct rue_store_result *result,
                        struct rue_recommendation *out)
{
    const json_t *facts = parse_object(reader, result->facts, out),
                 *rules = parse_object(reader, result->rules, out);
    if (facts) rue_recommendation_read_run(reader, facts, &out->found);
    if (rules) rue_json_read_fields(reader, rules, rules_fields, &out->rules);
    for (size_t i = 0; i < out->rules.weight_count; i++)
        if (!(out->rules.weights[i].weight > 0))
            rue_json_refuse(reader, "weights", "a list of positive weights");
    out->disturbed_count = result->disturbed_count;
    out->disturbed = result->disturbed;
    result->disturbed = NULL;
}

/* Only scenarios if the run is under way. */
static void read_variants(struct rue_json_reader *reader, const struct rue_store_rows *rows,
                          struct rue_recommendation *out)
{
    const struct rue_store_finding *findings = rows->at;
    out->at = calloc(rows->count + 1, sizeof *out->at);
    if (!out->at) reader->status = rue_fail_memory(reader->error, "findings", rows->count * sizeof *out->at);
    for (size_t i = 0; reader->status == RUE_OK && i < rows->count; i++) {
        struct rue_recommended *variant = &out->at[out->count++];
        memcpy(variant->found.scenario, findings[i].scenario, sizeof findings[i].scenario);
        if (out->under_way) continue;
        size_t length = rue_json_enter_at(reader, i);
        const json_t *facts = parse_object(reader, findings[i].facts, out);
        if (facts) rue_recommended_read(reader, facts, variant);
        rue_json_exit(reader, length);
    }
}

/* Of `known` the changes, of its `result` the rest. */
static rue_status read_tables(struct rue_json_reader *reader, struct rue_store *store, int64_t known,
                              struct rue_store_result *result, struct rue_recommendation *out)
{
    struct rue_change_findings *changes = &out->found.changes;
    struct rue_store_rows rows;
    rue_status status = rue_store_read_rows(store, RUE_STORE_FINDINGS, result->run_id, &rows, reader->error);
    if (status == RUE_OK) {
        read_result(reader, result, out);
        read_variants(reader, &rows, out);
        status = reader->status;
    }
    rue_store_rows_close(&rows);
    if (status != RUE_OK) return status;
    status = rue_store_read_rows(store, RUE_STORE_CHANGES, known, &rows, reader->error);
    changes->notice_count = rows.count;
    changes->notices = rows.at;
    if (status != RUE_OK) return status;
    status = rue_store_read_rows(store, RUE_STORE_EXCLUSIONS, known, &rows, reader->error);
    changes->dropped_count = rows.count;
    changes->dropped = rows.at;
    return status;
}

rue_status rue_kept_read(struct rue_store *store, const struct rue_store_rows *results, size_t index,
                         const char *path, struct rue_recommendation **out, rue_error *error)
{
    struct rue_store_result *all = results->at, *known = &all[index], *result = NULL;
    rue_error why = {0};
    struct rue_json_reader reader = {.path = path,
                                     .advice = "use the rue that wrote it, or tune again with --fresh",
                                     .error = &why,
                                     .knobs = &rue_own_knobs};
    *out = NULL;
    struct rue_recommendation *kept = calloc(1, sizeof *kept);
    if (!kept || !(kept->root = json_array())) {
        free(kept);
        return rue_fail_memory(error, "findings", sizeof *kept);
    }
    for (size_t i = 0; i < results->count; i++)
        if (all[i].run_id == known->result) result = &all[i];
    kept->path = path;
    kept->under_way = !result;
    kept->trials = known->trials;
    rue_json_enter(&reader, "findings");
    rue_status status = read_tables(&reader, store, known->run_id, result ? result : known, kept);
    if (status == RUE_OK) return *out = kept, RUE_OK;
    rue_recommendation_close(kept);
    return rue_fail(error, status == RUE_DATA ? RUE_STORE : status, "%s", why.message);
}

rue_status rue_kept_read_last(struct rue_store *store, int64_t *run_id, struct rue_recommendation **out,
                              rue_error *error)
{
    struct rue_store_rows results;
    *out = NULL;
    rue_status status = rue_store_read_rows(store, RUE_STORE_RESULTS, RUE_ABSENT, &results, error);
    for (size_t i = results.count; status == RUE_OK && !*out && i-- > 0;) {
        const struct rue_store_result *row = (struct rue_store_result *)results.at + i;
        *run_id = row->result;
        if (row->result != RUE_ABSENT && row->run_id != rue_store_run_id(store))
            status = rue_kept_read(store, &results, i, RUE_STORE_FILE, out, error);
    }
    rue_store_rows_close(&results);
    return status;
}

/* ---- ranked ---- */

static bool is_same_ranking(const struct rue_ranking_rules *a, const struct rue_ranking_rules *b)
{
    bool is_same = a->objective == b->objective;
    for (size_t i = 0; i < a->weight_count; i++)
        is_same &= rue_ranking_rules_weight(b, a->weights[i].model) == a->weights[i].weight;
    for (size_t i = 0; i < b->weight_count; i++)
        is_same &= rue_ranking_rules_weight(a, b->weights[i].model) == b->weights[i].weight;
    return is_same;
}

/* All variants have the same models; one without a forecast has no profiles. */
static rue_status list_profiles(struct rue_recommendation *kept, rue_error *error)
{
    const struct rue_recommended *from = kept->at;
    while (from < kept->at + kept->count && !from->predicted) from++;
    if (from == kept->at + kept->count) return RUE_OK;
    size_t models = from->matrix->model_count;
    kept->profiles = calloc(models + 1, sizeof *kept->profiles);
    if (!kept->profiles) return rue_fail_memory(error, "models", models * sizeof *kept->profiles);
    for (size_t m = 0; m < models; m++) kept->profiles[m] = from->profiles[m];
    return RUE_OK;
}

rue_status rue_kept_rank(struct rue_recommendation *kept, const struct rue_ranking_rules *rules,
                         struct rue_findings **out, rue_error *error)
{
    struct rue_findings *findings = calloc(1, sizeof *findings);
    if (!findings) return rue_fail_memory(error, "findings", sizeof *findings);
    bool claims = is_same_ranking(rules, &kept->rules);
    rue_status status = list_profiles(kept, error);
    *findings = kept->found;
    findings->profiles = kept->profiles;
    findings->variants = calloc(kept->count + 1, sizeof *findings->variants);
    if (status == RUE_OK && !findings->variants)
        status = rue_fail_memory(error, "findings", kept->count * sizeof *findings->variants);
    while (status == RUE_OK && findings->variant_count < kept->count) {
        struct rue_recommended *from = &kept->at[findings->variant_count];
        struct rue_variant_findings *variant = &findings->variants[findings->variant_count++];
        *variant = from->found;
        variant->knowledge = from->knowledge;
        variant->matrix = from->matrix;
        from->matrix = NULL;
        if (claims) continue;
        variant->baselines = (struct rue_baseline_findings){0};
        variant->lengths.count = 0;
        variant->claim = (struct rue_claim_findings){0};
        variant->interval = (struct rue_regret_interval){0};
    }
    if (status == RUE_OK) status = rue_findings_fill(findings, rules, error);
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_findings_close(findings);
    return status;
}
