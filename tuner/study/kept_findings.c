#include "kept_findings.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "json_document.h"
#include "json_reader.h"
#include "kept_variant.h"
#include "knob_json.h"
#include "tally.h"

#define FORMAT "rue.findings/1"

enum { VARIANTS_MAX = 64, WEIGHTS_MAX = 1 << 16, TOP_MAX = 1000000, DISTURBED_MAX = 1 << 24 };

/* What a run reads of the one before is not made anew by it. */
static const char start_over[] = "use the rue that wrote it, or start over with 'rue tune --fresh'",
                  again[] = "run the same 'rue tune' again to make it anew";

void rue_kept_key(const char *scenario, char out[RUE_KEPT_KEY_BYTES])
{
    snprintf(out, RUE_KEPT_KEY_BYTES, "%016" PRIx64, rue_hash(RUE_HASH_START, scenario, strlen(scenario)));
}

/* ---- written ---- */

static json_t *notices_json(struct rue_json_document *document, const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->notice_count; i++) {
        const struct rue_notice *notice = &findings->notices[i];
        json_t *object = json_object();
        rue_json_put(document, object, "trial", rue_json_integer(notice->trial));
        rue_json_put(document, object, "noticed", rue_json_integer(notice->noticed));
        rue_json_put(document, object, "unsure", rue_json_integer(notice->unsure));
        rue_json_put(document, object, "unsure_end", rue_json_integer(notice->unsure_end));
        rue_json_put(document, object, "load_log", rue_json_real(notice->load_log));
        rue_json_put(document, object, "compute_log", rue_json_real(notice->compute_log));
        rue_json_put(document, object, "cause", rue_json_text(notice->cause));
        rue_json_push(document, array, object);
    }
    return array;
}

static json_t *rules_json(struct rue_json_document *document, const struct rue_ranking_rules *rules)
{
    json_t *object = json_object(), *weights = json_array();
    for (size_t i = 0; i < rules->weight_count; i++) {
        json_t *weight = json_object();
        rue_json_put(document, weight, "model", rue_json_text(rules->weights[i].model));
        rue_json_put(document, weight, "weight", rue_json_real(rules->weights[i].weight));
        rue_json_push(document, weights, weight);
    }
    rue_json_put(document, object, "top_n", rue_json_integer(rules->top_n));
    rue_json_put(document, object, "objective", json_string(rue_objective_names[rules->objective]));
    rue_json_put(document, object, "set_epsilon_ratio", rue_json_real(rules->set_epsilon_ratio));
    rue_json_put(document, object, "confidence", rue_json_real(rules->confidence));
    rue_json_put(document, object, "weights", weights);
    return object;
}

static json_t *disturbed_json(struct rue_json_document *document, const struct rue_kept_beside *beside)
{
    json_t *array = json_array();
    for (size_t i = 0; i < beside->disturbed_count; i++)
        rue_json_push(document, array, rue_json_integer(beside->disturbed[i]));
    return array;
}

static json_t *variants_json(struct rue_json_document *document, const struct rue_findings *findings,
                             const struct rue_kept_beside *beside)
{
    json_t *array = json_array();
    for (size_t v = 0; v < beside->variant_count; v++)
        rue_json_push(document, array,
                      beside->under_way
                          ? json_pack("{s:s}", "key", beside->keys[v])
                          : rue_kept_variant_json(document, &findings->variants[v], beside->keys[v]));
    return array;
}

rue_status rue_kept_findings_write(const struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                   const struct rue_kept_beside *beside, char **out, rue_error *error)
{
    struct rue_json_document document = {0};
    json_t *root = json_object();
    rue_json_put(&document, root, "format", json_string(FORMAT));
    rue_json_put(&document, root, "trials", rue_json_integer(beside->trials));
    rue_json_put(&document, root, "under_way", json_boolean(beside->under_way));
    rue_json_put(&document, root, "measured_with", rue_json_text(findings->measured_with));
    rue_json_put(&document, root, "runner", rue_json_text(findings->runner));
    rue_json_put(&document, root, "consumer", rue_json_text(findings->consumer));
    rue_json_put(&document, root, "virtual_clock", json_boolean(findings->virtual_clock));
    rue_json_put(&document, root, "partial", json_boolean(findings->partial));
    rue_json_put(&document, root, "partial_reason", rue_json_text(findings->partial_reason));
    rue_json_put(&document, root, "disturbance", rue_json_text(findings->disturbance));
    rue_json_put(&document, root, "busy_before", rue_json_text(findings->busy_before));
    rue_json_put(&document, root, "busy_after", rue_json_text(findings->busy_after));
    rue_json_put(&document, root, "notices", notices_json(&document, findings));
    rue_json_put(&document, root, "disturbed", disturbed_json(&document, beside));
    rue_json_put(&document, root, "rules", rules_json(&document, rules));
    rue_json_put(&document, root, "knobs", rue_json_knobs(rue_findings_knobs(findings)));
    rue_json_put(&document, root, "variants", variants_json(&document, findings, beside));
    *out = document.failed ? NULL : rue_json_dump(root, JSON_COMPACT);
    json_decref(root);
    return *out ? RUE_OK : rue_fail_memory(error, "findings", sizeof *findings);
}

/* ---- read ---- */

static void read_notices(struct rue_json_reader *reader, const json_t *root, struct rue_kept_findings *out)
{
    const json_t *list;
    out->notice_count = rue_json_list(reader, root, "notices", RUE_KEPT_NOTICES_MAX, &list);
    for (size_t i = 0; i < out->notice_count; i++) {
        struct rue_notice *notice = &out->notices[i];
        const json_t *object = json_array_get(list, i);
        notice->trial = (size_t)rue_json_count(reader, object, "trial", false, INT64_MAX);
        notice->noticed = (size_t)rue_json_count(reader, object, "noticed", false, INT64_MAX);
        notice->unsure = (size_t)rue_json_count(reader, object, "unsure", false, INT64_MAX);
        notice->unsure_end = (size_t)rue_json_count(reader, object, "unsure_end", false, INT64_MAX);
        notice->load_log = rue_json_number_of(reader, object, "load_log", false);
        notice->compute_log = rue_json_number_of(reader, object, "compute_log", false);
        rue_json_copy_text(reader, object, "cause", false, notice->cause, sizeof notice->cause);
    }
}

/* Older ones have none. */
static void read_disturbed(struct rue_json_reader *reader, const json_t *root, struct rue_kept_findings *out)
{
    const json_t *list = NULL;
    size_t count = json_object_get(root, "disturbed")
                       ? rue_json_list(reader, root, "disturbed", DISTURBED_MAX, &list)
                       : 0;
    out->disturbed = calloc(count + 1, sizeof *out->disturbed);
    if (!out->disturbed)
        reader->status = rue_fail_memory(reader->error, "trials", count * sizeof *out->disturbed);
    for (; reader->status == RUE_OK && out->disturbed_count < count; out->disturbed_count++) {
        json_int_t trial = json_integer_value(json_array_get(list, out->disturbed_count));
        if (trial <= 0) rue_json_refuse(reader, "disturbed", "a list of trials");
        out->disturbed[out->disturbed_count] = (uint64_t)trial;
    }
}

static void read_rules(struct rue_json_reader *reader, const json_t *root, struct rue_ranking_rules *out)
{
    const json_t *object = rue_json_object(reader, root, "rules", false), *list;
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

static void read_keys(struct rue_json_reader *reader, const json_t *root, struct rue_kept_findings *out)
{
    const json_t *list;
    out->variant_count = rue_json_list(reader, root, "variants", VARIANTS_MAX, &list);
    out->keys = calloc(out->variant_count + 1, sizeof *out->keys);
    if (!out->keys) reader->status = rue_fail_memory(reader->error, "findings", out->variant_count);
    for (size_t v = 0; reader->status == RUE_OK && v < out->variant_count; v++)
        rue_json_copy_text(reader, json_array_get(list, v), "key", false, out->keys[v], sizeof *out->keys);
}

/* What a reader refused is a fault of the store. */
static rue_status conclude(const struct rue_json_reader *reader, rue_error *error)
{
    if (reader->status != RUE_DATA) return reader->status;
    char message[RUE_ERROR_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", reader->error->message);
    rue_error_clear(error);
    return rue_fail(error, RUE_STORE, "%s", message);
}

static struct rue_json_reader start(const char *store, const char *advice, const json_t *root,
                                    rue_error *error)
{
    struct rue_json_reader reader = {
        .path = store, .advice = advice, .error = error, .knobs = &rue_own_knobs};
    rue_json_enter(&reader, "findings");
    if (rue_knob_json_read(json_object_get(root, "knobs"), &reader.knobs, NULL) != RUE_OK)
        rue_json_refuse(&reader, "knobs", "a list of knobs");
    return reader;
}

rue_status rue_kept_findings_read(const char *text, const char *store, struct rue_kept_findings *out,
                                  rue_error *error)
{
    char format[64];
    rue_error why = {0};
    *out = (struct rue_kept_findings){.root = json_loads(text, JSON_REJECT_DUPLICATES, NULL)};
    struct rue_json_reader reader = start(store, start_over, out->root, &why);
    if (!json_is_object(out->root)) rue_json_refuse(&reader, NULL, "an object");
    rue_json_copy_text(&reader, out->root, "format", false, format, sizeof format);
    if (reader.status == RUE_OK && strcmp(format, FORMAT) != 0) rue_json_refuse(&reader, "format", FORMAT);
    out->trials = rue_json_count(&reader, out->root, "trials", false, INT64_MAX);
    rue_json_copy_text(&reader, out->root, "measured_with", false, out->measured_with,
                       sizeof out->measured_with);
    out->under_way = json_is_true(json_object_get(out->root, "under_way")); /* older ones never are */
    out->partial = rue_json_bool(&reader, out->root, "partial");
    rue_json_copy_text(&reader, out->root, "partial_reason", false, out->partial_reason,
                       sizeof out->partial_reason);
    read_notices(&reader, out->root, out);
    read_disturbed(&reader, out->root, out);
    read_rules(&reader, out->root, &out->rules);
    read_keys(&reader, out->root, out);
    rue_status status = conclude(&reader, &why);
    if (status == RUE_OK) return RUE_OK;
    rue_kept_findings_close(out);
    return rue_fail(error, status, "%s", why.message);
}

void rue_kept_findings_close(struct rue_kept_findings *kept)
{
    rue_ranking_rules_close(&kept->rules);
    free(kept->keys);
    free(kept->disturbed);
    json_decref(kept->root);
    *kept = (struct rue_kept_findings){0};
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

static void read_facts(struct rue_json_reader *reader, const struct rue_kept_findings *kept,
                       struct rue_findings *out)
{
    const json_t *root = kept->root;
    rue_json_copy_text(reader, root, "runner", false, out->runner, sizeof out->runner);
    rue_json_copy_text(reader, root, "consumer", false, out->consumer, sizeof out->consumer);
    rue_json_copy_text(reader, root, "disturbance", false, out->disturbance, sizeof out->disturbance);
    rue_json_copy_text(reader, root, "busy_before", true, out->busy_before, sizeof out->busy_before);
    rue_json_copy_text(reader, root, "busy_after", true, out->busy_after, sizeof out->busy_after);
    out->virtual_clock = rue_json_bool(reader, root, "virtual_clock");
    memcpy(out->measured_with, kept->measured_with, sizeof out->measured_with);
    out->partial = kept->partial;
    memcpy(out->partial_reason, kept->partial_reason, sizeof out->partial_reason);
    out->notice_count = kept->notice_count;
    out->notices = kept->notices;
}

rue_status rue_kept_findings_rank(const struct rue_kept_findings *kept, const char *store,
                                  const struct rue_ranking_rules *rules, struct rue_findings **out,
                                  rue_error *error)
{
    rue_error why = {0};
    struct rue_json_reader reader = start(store, again, kept->root, &why);
    struct rue_findings *findings = calloc(1, sizeof *findings);
    if (!findings) return rue_fail_memory(error, "findings", sizeof *findings);
    findings->variants = calloc(kept->variant_count + 1, sizeof *findings->variants);
    if (!findings->variants) reader.status = rue_fail_memory(&why, "findings", kept->variant_count);
    read_facts(&reader, kept, findings);
    bool claims = judge_alike(rules, &kept->rules);
    const json_t *list = json_object_get(kept->root, "variants");
    size_t outer = rue_json_enter(&reader, "variants");
    for (; reader.status == RUE_OK && findings->variant_count < kept->variant_count;) {
        size_t length = rue_json_enter_at(&reader, findings->variant_count);
        rue_kept_variant_read(&reader, json_array_get(list, findings->variant_count), rules, claims,
                              &findings->variants[findings->variant_count]);
        findings->variant_count += reader.status == RUE_OK;
        rue_json_leave(&reader, length);
    }
    rue_json_leave(&reader, outer);
    rue_status status = conclude(&reader, &why);
    if (status == RUE_OK) return *out = findings, RUE_OK;
    rue_tally_findings_close(findings);
    return rue_fail(error, status, "%s", why.message);
}
