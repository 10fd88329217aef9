#include "recommendation_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "json_canonical.h"
#include "json_file.h"
#include "json_findings.h"
#include "json_number.h"
#include "knob_json.h"
#include "tally.h"

#define FORMAT "rue.recommendation/1"

enum { WEIGHTS_MAX = 1 << 16, TOP_MAX = 1000000, WEIGHT_MAX = 1000000000 };

/* ---- the ledger ---- */

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

static const struct rue_field kept_fields[] = {
    {"rules", RUE_FIELD_STRUCT, RUE_FIELD_AT(rue_recommendation, rules), .fields = rules_fields}, {0}};

static const struct rue_field recommendation_fields[] = {
    {"provenance", RUE_FIELD_STRUCT, RUE_FIELD_AT(rue_recommendation, found),
     .fields = rue_json_provenance_fields},
    {"ledger", RUE_FIELD_STRUCT, RUE_FIELD_AT(rue_recommendation, ledger), RUE_FIELD_OPTIONAL,
     .fields = rue_json_ledger_fields},
    {"ledger", RUE_FIELD_STRUCT, .flags = RUE_FIELD_OPTIONAL, .fields = kept_fields},
    {0}};

char *rue_recommendation_rules_json(const struct rue_ranking_rules *rules)
{
    json_t *object = rue_json_struct(rules_fields, rules, NULL);
    char *text = rue_json_dump(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

void rue_recommendation_scenario(const struct rue_store_scenario *scenario, const char *workload,
                                 char out[RUE_LEDGER_KEY_BYTES])
{
    char job[24];
    snprintf(job, sizeof job, "%" PRIu64, scenario->job_images);
    const struct rue_variant *variant = &scenario->variant;
    const char *const parts[] = {scenario->data_digest,
                                 rue_mode_names[variant->mode],
                                 variant->format,
                                 variant->dtype,
                                 workload,
                                 job,
                                 scenario->runner,
                                 scenario->machine};
    uint64_t hash = RUE_HASH_START;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i) hash = rue_hash(hash, "\n", 1);
        hash = rue_hash(hash, parts[i], strlen(parts[i]));
    }
    snprintf(out, RUE_LEDGER_KEY_BYTES, "%016" PRIx64, hash);
}

/* ---- the document ---- */

static void read_variants(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    const json_t *list;
    size_t count = rue_json_list(reader, out->root, "recommendations", RUE_JSON_VARIANTS_MAX, &list);
    out->at = calloc(count + 1, sizeof *out->at);
    if (!out->at)
        reader->status = rue_fail_memory(reader->error, "a recommendation", count * sizeof *out->at);
    size_t outer = rue_json_enter(reader, "recommendations");
    while (reader->status == RUE_OK && out->count < count) {
        size_t length = rue_json_enter_at(reader, out->count);
        rue_recommended_read(reader, json_array_get(list, out->count), &out->at[out->count]);
        out->count++; /* invalid ones too: they must be closed */
        rue_json_exit(reader, length);
    }
    rue_json_exit(reader, outer);
}

static void read_recommendation_root(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    static const struct rue_field format = {"format", RUE_FIELD_STRING, .offset = 0};
    const char *own = NULL;
    if (!json_is_object(out->root)) rue_json_refuse(reader, NULL, "a recommendation");
    rue_json_read_field(reader, out->root, &format, &own);
    if (reader->status == RUE_OK && strcmp(own, FORMAT) != 0) rue_json_refuse(reader, "format", FORMAT);
    if (rue_knob_json_read(json_object_get(out->root, "knobs"), &reader->knobs, NULL) != RUE_OK)
        rue_json_refuse(reader, "knobs", "a list of knobs");
    rue_json_read_fields(reader, out->root, recommendation_fields, out);
    rue_json_read_fields(reader, out->root, rue_json_run_fields, &out->found);
    const json_t *provenance = json_object_get(out->root, "provenance"),
                 *strategy = json_object_get(provenance, "strategy");
    if (json_is_object(strategy))
        rue_json_read_fields(reader, strategy, rue_json_strategy_fields, &out->found);
    char *text = rue_json_dump(json_object_get(provenance, "machine"), 0);
    rue_json_canonical(text ? text : "", out->found.machine.json, sizeof out->found.machine.json);
    free(text);
    out->ledger.rules_json = rue_json_dump(json_object_get(json_object_get(out->root, "ledger"), "rules"), 0);
    for (size_t i = 0; i < out->rules.weight_count; i++)
        if (!(out->rules.weights[i].weight > 0))
            rue_json_refuse(reader, "ledger", "a ledger with positive weights");
    read_variants(reader, out);
}

/* `path` is a file, or a folder with a recommendation.json. */
static rue_status load_file(const char *path, json_t **root, rue_error *error)
{
    char inside[PATH_MAX + 32];
    struct stat about;
    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(inside, sizeof inside, "%s%s", path, folder ? "/recommendation.json" : "");
    if (folder && access(inside, F_OK) != 0)
        return rue_fail(error, RUE_DATA,
                        "%s is not a study, because it holds no recommendation.json: give the folder that "
                        "'rue tune' wrote, such as rue-out/NAME",
                        path);
    return rue_json_file_read(inside, "give a recommendation.json", root, error);
}

/* Acquires `root`. */
static rue_status read_document(json_t *root, struct rue_json_reader *reader, struct rue_recommendation **out)
{
    struct rue_recommendation *recommendation = calloc(1, sizeof *recommendation);
    if (!recommendation) {
        json_decref(root);
        return rue_fail_memory(reader->error, "a recommendation", sizeof *recommendation);
    }
    recommendation->path = reader->path;
    recommendation->root = root;
    read_recommendation_root(reader, recommendation);
    if (reader->status == RUE_OK) return *out = recommendation, RUE_OK;
    rue_recommendation_close(recommendation);
    return reader->status;
}

rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out, rue_error *error)
{
    json_t *root;
    struct rue_json_reader reader = {.path = path,
                                     .advice = "give a recommendation.json that 'rue tune' wrote",
                                     .error = error,
                                     .knobs = &rue_own_knobs};
    rue_status status = load_file(path, &root, error);
    return status == RUE_OK ? read_document(root, &reader, out) : status;
}

rue_status rue_recommendation_read_kept(const char *text, const char *path, struct rue_recommendation **out,
                                        rue_error *error)
{
    rue_error why = {0};
    struct rue_json_reader reader = {.path = path,
                                     .advice =
                                         "use the rue that wrote it, or start over with 'rue tune --fresh'",
                                     .error = &why,
                                     .knobs = &rue_own_knobs};
    rue_json_enter(&reader, "findings");
    rue_status status = read_document(json_loads(text, JSON_REJECT_DUPLICATES, NULL), &reader, out);
    bool is_same =
        status != RUE_OK || (*out)->ledger.under_way || (*out)->ledger.scenario_count == (*out)->count;
    if (!is_same) {
        rue_json_refuse(&reader, "ledger", "a ledger with one scenario per variant");
        rue_recommendation_close(*out);
        status = reader.status;
    }
    if (status == RUE_OK) return RUE_OK;
    *out = NULL;
    return rue_fail(error, status == RUE_DATA ? RUE_STORE : status, "%s", why.message);
}

void rue_recommendation_close(struct rue_recommendation *recommendation)
{
    if (!recommendation) return;
    for (size_t i = 0; i < recommendation->count; i++) rue_recommended_close(&recommendation->at[i]);
    free(recommendation->at);
    free((void *)recommendation->found.changes.notices);
    free((void *)recommendation->found.changes.dropped);
    free((void *)recommendation->ledger.scenarios);
    free((void *)recommendation->ledger.disturbed);
    free((void *)recommendation->ledger.rules_json);
    rue_ranking_rules_close(&recommendation->rules);
    json_decref(recommendation->root);
    free(recommendation);
}

int rue_recommendation_cpus(const struct rue_recommendation *recommendation)
{
    int cpus = rue_json_number(recommendation->found.machine.json, "usable_cpus");
    if (cpus <= 0) cpus = recommendation->found.machine.usable_cpus;
    return cpus > 0 ? cpus : 1;
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

rue_status rue_recommendation_rank(struct rue_recommendation *recommendation,
                                   const struct rue_ranking_rules *rules, struct rue_findings **out,
                                   rue_error *error)
{
    struct rue_findings *findings = calloc(1, sizeof *findings);
    if (!findings) return rue_fail_memory(error, "findings", sizeof *findings);
    *findings = recommendation->found;
    findings->variants = calloc(recommendation->count + 1, sizeof *findings->variants);
    rue_status status =
        findings->variants
            ? RUE_OK
            : rue_fail_memory(error, "findings", recommendation->count * sizeof *findings->variants);
    bool claims = is_same_ranking(rules, &recommendation->rules);
    while (status == RUE_OK && findings->variant_count < recommendation->count) {
        size_t v = findings->variant_count;
        status = rue_recommended_rank(&recommendation->at[v], rules, claims, &findings->variants[v], error);
        findings->variant_count += status == RUE_OK;
    }
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_tally_findings_close(findings);
    return status;
}
