#include "recommendation_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hash.h"
#include "json_canonical.h"
#include "json_document.h"
#include "json_file.h"
#include "json_number.h"
#include "knob_json.h"
#include "tally.h"

#define FORMAT "rue.recommendation/1"

enum { CPUS_MAX = 1 << 20, WEIGHTS_MAX = 1 << 16, TOP_MAX = 1000000 };

/* ---- the run ---- */

static void read_provenance(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    char clock[16];
    struct rue_findings *found = &out->found;
    const json_t *object = rue_json_object(reader, out->root, "provenance", false);
    size_t length = rue_json_enter(reader, "provenance");
    RUE_JSON_COPY(reader, object, "runner", true, found->runner.name);
    RUE_JSON_COPY(reader, object, "rue_version", false, found->run.rue_version);
    RUE_JSON_COPY(reader, object, "cpu", true, found->machine.cpu);
    RUE_JSON_COPY(reader, object, "clock", false, clock);
    RUE_JSON_COPY(reader, object, "measured_with", true, found->runner.measured_with);
    RUE_JSON_COPY(reader, object, "consumer", true, found->runner.consumer);
    RUE_JSON_COPY(reader, object, "busy_before", true, found->changes.busy_before);
    RUE_JSON_COPY(reader, object, "busy_after", true, found->changes.busy_after);
    found->machine.usable_cpus = (int)rue_json_count(reader, object, "usable_cpus", true, CPUS_MAX);
    found->runner.virtual_clock = strcmp(clock, "virtual") == 0;
    char *text = rue_json_dump(rue_json_object(reader, object, "machine", true), 0);
    rue_json_canonical(text ? text : "", found->machine.json, sizeof found->machine.json);
    free(text);
    rue_json_leave(reader, length);
}

static double log_of(struct rue_json_reader *reader, const json_t *object, const char *key)
{
    double ratio = rue_json_number_of(reader, object, key, false);
    if (!(ratio > 0)) rue_json_refuse(reader, key, "a positive number");
    return log(ratio);
}

static void read_notices(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    const json_t *list;
    out->found.changes.notices = out->notices;
    out->found.changes.notice_count =
        rue_json_list(reader, out->root, "notices", RUE_RECOMMENDATION_NOTICES_MAX, &list);
    size_t outer = rue_json_enter(reader, "notices");
    for (size_t i = 0; reader->status == RUE_OK && i < out->found.changes.notice_count; i++) {
        struct rue_notice *notice = &out->notices[i];
        const json_t *object = json_array_get(list, i);
        notice->trial = (size_t)rue_json_count(reader, object, "trial", false, INT64_MAX);
        notice->noticed = (size_t)rue_json_count(reader, object, "noticed_after_trials", false, INT64_MAX);
        notice->unsure = (size_t)rue_json_count(reader, object, "unsure_from", false, INT64_MAX);
        notice->unsure_end = (size_t)rue_json_count(reader, object, "unsure_until", false, INT64_MAX);
        notice->load_log = log_of(reader, object, "load_slowdown_ratio");
        notice->compute_log = log_of(reader, object, "compute_slowdown_ratio");
        rue_json_copy_text(reader, object, "cause", true, notice->cause, sizeof notice->cause);
    }
    rue_json_leave(reader, outer);
}

/* ---- the ledger ---- */

static void read_rules(struct rue_json_reader *reader, const json_t *ledger, struct rue_ranking_rules *out)
{
    const json_t *object = rue_json_object(reader, ledger, "rules", false), *list;
    out->top_n = (size_t)rue_json_count(reader, object, "top_n", false, TOP_MAX);
    out->objective = (enum rue_objective)rue_json_word(reader, object, "objective", rue_objective_names,
                                                       RUE_OBJECTIVE_COUNT);
    out->set_epsilon_ratio = rue_json_number_of(reader, object, "set_epsilon_ratio", false);
    out->confidence = rue_json_number_of(reader, object, "confidence", false);
    if (reader->status == RUE_OK && out->top_n == 0) rue_json_refuse(reader, "top_n", "a number from 1 on");
    size_t count = rue_json_list(reader, object, "weights", WEIGHTS_MAX, &list);
    out->weights = count ? calloc(count, sizeof *out->weights) : NULL;
    if (count && !out->weights)
        reader->status = rue_fail_memory(reader->error, "weights", count * sizeof *out->weights);
    for (; reader->status == RUE_OK && out->weight_count < count; out->weight_count++) {
        struct rue_model_weight *weight = &out->weights[out->weight_count];
        const json_t *item = json_array_get(list, out->weight_count);
        weight->model = json_string_value(json_object_get(item, "model"));
        weight->weight = rue_json_number_of(reader, item, "weight", false);
        if (!weight->model || !(weight->weight > 0)) rue_json_refuse(reader, "weights", "a list of weights");
    }
}

static void read_ledger(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    struct rue_findings_ledger *ledger = &out->ledger;
    const json_t *object = rue_json_object(reader, out->root, "ledger", true), *scenarios;
    if (!object) return;
    size_t outer = rue_json_enter(reader, "ledger");
    ledger->trials = rue_json_count(reader, object, "trials", false, INT64_MAX);
    ledger->under_way = rue_json_bool(reader, object, "under_way");
    ledger->scenario_count =
        rue_json_list(reader, object, "scenarios", RUE_RECOMMENDATION_VARIANTS_MAX, &scenarios);
    ledger->scenarios = (const char(*)[RUE_LEDGER_KEY_BYTES])out->scenarios;
    for (size_t i = 0; i < ledger->scenario_count; i++) {
        const char *key = json_string_value(json_array_get(scenarios, i));
        if (!key || strlen(key) >= RUE_LEDGER_KEY_BYTES)
            rue_json_refuse(reader, "scenarios", "a list of scenarios");
        else
            snprintf(out->scenarios[i], RUE_LEDGER_KEY_BYTES, "%s", key);
    }
    read_rules(reader, object, &out->rules);
    rue_json_leave(reader, outer);
}

char *rue_recommendation_rules_json(const struct rue_ranking_rules *rules)
{
    json_t *object = json_object(), *weights = json_array();
    for (size_t i = 0; i < rules->weight_count; i++) {
        json_t *weight = json_object();
        rue_json_put(&weight, "model", rue_json_text(rules->weights[i].model));
        rue_json_put(&weight, "weight", rue_json_real(rules->weights[i].weight));
        rue_json_push(&weights, weight);
    }
    rue_json_put(&object, "top_n", rue_json_integer(rules->top_n));
    rue_json_put(&object, "objective", json_string(rue_objective_names[rules->objective]));
    rue_json_put(&object, "set_epsilon_ratio", rue_json_real(rules->set_epsilon_ratio));
    rue_json_put(&object, "confidence", rue_json_real(rules->confidence));
    rue_json_put(&object, "weights", weights);
    char *text = rue_json_dump(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

void rue_recommendation_scenario(const char *scenario, char out[RUE_LEDGER_KEY_BYTES])
{
    snprintf(out, RUE_LEDGER_KEY_BYTES, "%016" PRIx64, rue_hash(RUE_HASH_START, scenario, strlen(scenario)));
}

/* ---- the document ---- */

static void read_parts(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    const json_t *list;
    size_t count =
        rue_json_list(reader, out->root, "recommendations", RUE_RECOMMENDATION_VARIANTS_MAX, &list);
    out->at = calloc(count + 1, sizeof *out->at);
    if (!out->at)
        reader->status = rue_fail_memory(reader->error, "a recommendation", count * sizeof *out->at);
    size_t outer = rue_json_enter(reader, "recommendations");
    while (reader->status == RUE_OK && out->count < count) {
        size_t length = rue_json_enter_at(reader, out->count);
        rue_recommended_read(reader, json_array_get(list, out->count), &out->at[out->count]);
        out->count++; /* also one that is refused, which is to be closed */
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
}

static void read_root(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    char format[64];
    struct rue_findings *found = &out->found;
    if (!json_is_object(out->root)) rue_json_refuse(reader, NULL, "a recommendation");
    RUE_JSON_COPY(reader, out->root, "format", false, format);
    if (reader->status == RUE_OK && strcmp(format, FORMAT) != 0) rue_json_refuse(reader, "format", FORMAT);
    if (rue_knob_json_read(json_object_get(out->root, "knobs"), &reader->knobs, NULL) != RUE_OK)
        rue_json_refuse(reader, "knobs", "a list of knobs");
    read_provenance(reader, out);
    found->run.partial = rue_json_bool(reader, out->root, "partial");
    RUE_JSON_COPY(reader, out->root, "partial_reason", true, found->run.partial_reason);
    RUE_JSON_COPY(reader, out->root, "disturbance", true, found->changes.disturbance);
    read_notices(reader, out);
    read_parts(reader, out);
    read_ledger(reader, out);
}

/* A regular file, or that of this name in a folder; anything else, a FIFO for one, would have us wait. */
static rue_status load_file(const char *path, json_t **root, rue_error *error)
{
    char inside[PATH_MAX + 32];
    struct stat about;
    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(inside, sizeof inside, "%s%s", path, folder ? "/recommendation.json" : "");
    return rue_json_file_read(inside, "give a recommendation.json", root, error);
}

/* Takes `root`. */
static rue_status read_document(json_t *root, struct rue_json_reader *reader, struct rue_recommendation **out)
{
    struct rue_recommendation *recommendation = calloc(1, sizeof *recommendation);
    if (!recommendation) {
        json_decref(root);
        return rue_fail_memory(reader->error, "a recommendation", sizeof *recommendation);
    }
    recommendation->path = reader->path;
    recommendation->root = root;
    read_root(reader, recommendation);
    if (reader->status == RUE_OK) return *out = recommendation, RUE_OK;
    rue_recommendation_close(recommendation);
    return reader->status;
}

rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out, rue_error *error)
{
    json_t *root;
    struct rue_json_reader reader = {.path = path,
                                     .advice = "give a recommendation.json as 'rue tune' wrote it",
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
    bool alike =
        status != RUE_OK || (*out)->ledger.under_way || (*out)->ledger.scenario_count == (*out)->count;
    if (!alike) {
        rue_json_refuse(&reader, "ledger", "about as many variants");
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

static bool judge_alike(const struct rue_ranking_rules *a, const struct rue_ranking_rules *b)
{
    bool alike = a->objective == b->objective;
    for (size_t i = 0; i < a->weight_count; i++)
        alike &= rue_ranking_rules_weight(b, a->weights[i].model) == a->weights[i].weight;
    for (size_t i = 0; i < b->weight_count; i++)
        alike &= rue_ranking_rules_weight(a, b->weights[i].model) == b->weights[i].weight;
    return alike;
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
    bool claims = judge_alike(rules, &recommendation->rules);
    while (status == RUE_OK && findings->variant_count < recommendation->count) {
        size_t v = findings->variant_count;
        status = rue_recommended_rank(&recommendation->at[v], rules, claims, &findings->variants[v], error);
        findings->variant_count += status == RUE_OK;
    }
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_tally_findings_close(findings);
    return status;
}
