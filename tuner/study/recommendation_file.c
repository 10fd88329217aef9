#include "recommendation_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_canonical.h"
#include "json_file.h"
#include "json_findings.h"
#include "json_number.h"
#include "knob_json.h"

#define FORMAT "rue.recommendation/1"

static const struct rue_field recommendation_fields[] = {
    {"provenance", RUE_FIELD_STRUCT, .fields = rue_json_provenance_fields}, {0}};

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

void rue_recommendation_read_run(struct rue_json_reader *reader, const json_t *root, struct rue_findings *out)
{
    static const struct rue_field pins_memory = {
        "pins_memory", RUE_FIELD_FLAG, RUE_FIELD_AT(rue_findings, runner.pins_memory), RUE_FIELD_OPTIONAL};
    if (rue_knob_json_read(json_object_get(root, "knobs"), &reader->knobs, NULL) != RUE_OK)
        rue_json_refuse(reader, "knobs", "a list of knobs");
    rue_json_read_fields(reader, root, recommendation_fields, out);
    rue_json_read_fields(reader, root, rue_json_run_fields, out);
    rue_json_read_field(reader, root, &pins_memory, out);
    const json_t *provenance = json_object_get(root, "provenance"),
                 *strategy = json_object_get(provenance, "strategy");
    if (json_is_object(strategy)) rue_json_read_fields(reader, strategy, rue_json_strategy_fields, out);
    char *text = rue_json_dump(json_object_get(provenance, "machine"), 0);
    rue_json_canonical(text ? text : "", out->machine.json, sizeof out->machine.json);
    free(text);
}

static void read_recommendation_root(struct rue_json_reader *reader, struct rue_recommendation *out)
{
    static const struct rue_field format = {"format", RUE_FIELD_STRING, .offset = 0};
    const char *own = NULL;
    if (!json_is_object(out->root)) rue_json_refuse(reader, NULL, "a recommendation");
    rue_json_read_field(reader, out->root, &format, &own);
    if (reader->status == RUE_OK && strcmp(own, FORMAT) != 0) rue_json_refuse(reader, "format", FORMAT);
    rue_recommendation_read_run(reader, out->root, &out->found);
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
                        "rue tune wrote, such as rue-out/NAME",
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
                                     .advice = "give a recommendation.json that rue tune wrote",
                                     .error = error,
                                     .knobs = &rue_own_knobs};
    rue_status status = load_file(path, &root, error);
    return status == RUE_OK ? read_document(root, &reader, out) : status;
}

void rue_recommendation_close(struct rue_recommendation *recommendation)
{
    if (!recommendation) return;
    for (size_t i = 0; i < recommendation->count; i++) rue_recommended_close(&recommendation->at[i]);
    free(recommendation->at);
    free((void *)recommendation->found.changes.notices);
    free((void *)recommendation->found.changes.dropped);
    free(recommendation->disturbed);
    free(recommendation->profiles);
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
