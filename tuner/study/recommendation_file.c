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

enum {
    VARIANTS_MAX = 64,
    CPUS_MAX = 1 << 20,
    WEIGHTS_MAX = 1 << 16,
    TOP_MAX = 1000000,
    DISTURBED_MAX = 1 << 24
};

/* ---- the run ---- */

static void read_provenance(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    char clock[16];
    struct rue_findings *found = &out->found;
    const json_t *object = rue_json_object(reader, out->root, "provenance", false);
    size_t length = rue_json_enter(reader, "provenance");
    rue_json_copy_text(reader, object, "runner", true, found->runner.name, sizeof found->runner.name);
    rue_json_copy_text(reader, object, "rue_version", false, found->run.rue_version,
                       sizeof found->run.rue_version);
    rue_json_copy_text(reader, object, "cpu", true, found->machine.cpu, sizeof found->machine.cpu);
    rue_json_copy_text(reader, object, "clock", false, clock, sizeof clock);
    rue_json_copy_text(reader, object, "measured_with", true, found->runner.measured_with,
                       sizeof found->runner.measured_with);
    rue_json_copy_text(reader, object, "consumer", true, found->runner.consumer,
                       sizeof found->runner.consumer);
    rue_json_copy_text(reader, object, "busy_before", true, found->changes.busy_before,
                       sizeof found->changes.busy_before);
    rue_json_copy_text(reader, object, "busy_after", true, found->changes.busy_after,
                       sizeof found->changes.busy_after);
    found->machine.usable_cpus = (int)rue_json_count(reader, object, "usable_cpus", true, CPUS_MAX);
    found->runner.virtual_clock = strcmp(clock, "virtual") == 0;
    const json_t *machine = rue_json_object(reader, object, "machine", true);
    char *text = rue_json_dump(machine, 0);
    size_t bytes = text ? strlen(text) + 64 : 1;
    out->machine_json = calloc(1, bytes);
    if (out->machine_json)
        rue_json_canonical(text ? text : "", out->machine_json, bytes);
    else if (reader->status == RUE_OK)
        reader->status = rue_fail_memory(reader->error, "a recommendation", bytes);
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
    const json_t *object = rue_json_object(reader, out->root, "ledger", false), *scenarios, *disturbed;
    size_t outer = rue_json_enter(reader, "ledger");
    ledger->trials = rue_json_count(reader, object, "trials", false, INT64_MAX);
    ledger->under_way = rue_json_bool(reader, object, "under_way");
    ledger->scenario_count = rue_json_list(reader, object, "scenarios", VARIANTS_MAX, &scenarios);
    size_t count = rue_json_list(reader, object, "disturbed", DISTURBED_MAX, &disturbed);
    char(*keys)[RUE_LEDGER_KEY_BYTES] = calloc(ledger->scenario_count + 1, sizeof *keys);
    uint64_t *trials = calloc(count + 1, sizeof *trials);
    ledger->scenarios = (const char(*)[RUE_LEDGER_KEY_BYTES])keys;
    ledger->disturbed = trials;
    if (!keys || !trials) reader->status = rue_fail_memory(reader->error, "a ledger", count * sizeof *trials);
    for (size_t i = 0; reader->status == RUE_OK && i < ledger->scenario_count; i++) {
        const char *key = json_string_value(json_array_get(scenarios, i));
        if (!key || strlen(key) >= sizeof *keys) rue_json_refuse(reader, "scenarios", "a list of scenarios");
        if (key) snprintf(keys[i], sizeof *keys, "%s", key);
    }
    for (; reader->status == RUE_OK && ledger->disturbed_count < count; ledger->disturbed_count++) {
        json_int_t trial = json_integer_value(json_array_get(disturbed, ledger->disturbed_count));
        if (trial <= 0) rue_json_refuse(reader, "disturbed", "a list of trials");
        trials[ledger->disturbed_count] = (uint64_t)trial;
    }
    read_rules(reader, object, &out->rules);
    rue_json_leave(reader, outer);
}

char *rue_recommendation_rules_json(const struct rue_ranking_rules *rules)
{
    struct rue_json_document document = {0};
    json_t *object = json_object(), *weights = json_array();
    for (size_t i = 0; i < rules->weight_count; i++) {
        json_t *weight = json_object();
        rue_json_put(&document, weight, "model", rue_json_text(rules->weights[i].model));
        rue_json_put(&document, weight, "weight", rue_json_real(rules->weights[i].weight));
        rue_json_push(&document, weights, weight);
    }
    rue_json_put(&document, object, "top_n", rue_json_integer(rules->top_n));
    rue_json_put(&document, object, "objective", json_string(rue_objective_names[rules->objective]));
    rue_json_put(&document, object, "set_epsilon_ratio", rue_json_real(rules->set_epsilon_ratio));
    rue_json_put(&document, object, "confidence", rue_json_real(rules->confidence));
    rue_json_put(&document, object, "weights", weights);
    char *text = document.failed ? NULL : rue_json_dump(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

void rue_recommendation_scenario(const char *scenario, char out[RUE_LEDGER_KEY_BYTES])
{
    snprintf(out, RUE_LEDGER_KEY_BYTES, "%016" PRIx64, rue_hash(RUE_HASH_START, scenario, strlen(scenario)));
}

/* ---- the document ---- */

static void read_parts(struct rue_json_reader *reader, bool kept, struct rue_recommendation *out)
{
    const json_t *list;
    size_t count = rue_json_list(reader, out->root, "recommendations", VARIANTS_MAX, &list);
    out->at = calloc(count + 1, sizeof *out->at);
    if (!out->at)
        reader->status = rue_fail_memory(reader->error, "a recommendation", count * sizeof *out->at);
    size_t outer = rue_json_enter(reader, "recommendations");
    while (reader->status == RUE_OK && out->count < count) {
        size_t length = rue_json_enter_at(reader, out->count);
        rue_recommended_read(reader, json_array_get(list, out->count), kept, &out->at[out->count]);
        out->count++; /* also one that is refused, which is to be closed */
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
}

enum about { A_FILE, A_KEPT_RUN, ALL_KEPT };

static void read_root(struct rue_json_reader *reader, enum about about, struct rue_recommendation *out)
{
    char format[64];
    if (!json_is_object(out->root)) rue_json_refuse(reader, NULL, "a recommendation");
    rue_json_copy_text(reader, out->root, "format", false, format, sizeof format);
    if (reader->status == RUE_OK && strcmp(format, FORMAT) != 0) rue_json_refuse(reader, "format", FORMAT);
    if (rue_knob_json_read(json_object_get(out->root, "knobs"), &reader->knobs, NULL) != RUE_OK)
        rue_json_refuse(reader, "knobs", "a list of knobs");
    read_provenance(reader, out);
    if (about == A_FILE) {
        read_parts(reader, false, out);
        return;
    }
    struct rue_findings *found = &out->found;
    found->run.partial = rue_json_bool(reader, out->root, "partial");
    rue_json_copy_text(reader, out->root, "partial_reason", true, found->run.partial_reason,
                       sizeof found->run.partial_reason);
    rue_json_copy_text(reader, out->root, "disturbance", true, found->changes.disturbance,
                       sizeof found->changes.disturbance);
    read_notices(reader, out);
    read_ledger(reader, out);
    reader->advice = "run the same 'rue tune' again to make it anew"; /* which does not read the parts */
    if (about == ALL_KEPT) read_parts(reader, true, out);
    if (about == ALL_KEPT && !out->ledger.under_way && out->ledger.scenario_count != out->count)
        rue_json_refuse(reader, "ledger", "about as many variants");
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
static rue_status read_document(json_t *root, enum about about, struct rue_json_reader *reader,
                                struct rue_recommendation **out)
{
    struct rue_recommendation *recommendation = calloc(1, sizeof *recommendation);
    if (!recommendation) {
        json_decref(root);
        return rue_fail_memory(reader->error, "a recommendation", sizeof *recommendation);
    }
    recommendation->path = reader->path;
    recommendation->root = root;
    read_root(reader, about, recommendation);
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
    return status == RUE_OK ? read_document(root, A_FILE, &reader, out) : status;
}

rue_status rue_recommendation_read_kept(const char *text, const char *path, bool parts,
                                        struct rue_recommendation **out, rue_error *error)
{
    rue_error why = {0};
    struct rue_json_reader reader = {.path = path,
                                     .advice =
                                         "use the rue that wrote it, or start over with 'rue tune --fresh'",
                                     .error = &why,
                                     .knobs = &rue_own_knobs};
    rue_json_enter(&reader, "findings");
    rue_status status = read_document(json_loads(text, JSON_REJECT_DUPLICATES, NULL),
                                      parts ? ALL_KEPT : A_KEPT_RUN, &reader, out);
    if (status == RUE_OK) return RUE_OK;
    return rue_fail(error, status == RUE_DATA ? RUE_STORE : status, "%s", why.message);
}

void rue_recommendation_close(struct rue_recommendation *recommendation)
{
    if (!recommendation) return;
    for (size_t i = 0; i < recommendation->count; i++) rue_recommended_close(&recommendation->at[i]);
    free(recommendation->at);
    free(recommendation->machine_json);
    free((void *)recommendation->ledger.scenarios);
    free((void *)recommendation->ledger.disturbed);
    rue_ranking_rules_close(&recommendation->rules);
    json_decref(recommendation->root);
    free(recommendation);
}

int rue_recommendation_cpus(const struct rue_recommendation *recommendation)
{
    int cpus = rue_json_number(recommendation->machine_json, "usable_cpus");
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
