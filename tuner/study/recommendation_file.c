#include "recommendation_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interrupt.h"
#include "json_canonical.h"
#include "json_document.h"
#include "json_file.h"
#include "json_number.h"
#include "json_reader.h"
#include "knob_json.h"
#include "knowledge_json.h"
#include "prediction.h"
#include "protocol.h"
#include "selection.h"

/* TIME_MAX_NS: nine years. */
#define TIME_MAX_NS (UINT64_C(1) << 58)
enum { VARIANTS_MAX = 64, CONFIGS_MAX = 1 << 16, MODELS_MAX = 64, CPUS_MAX = 1 << 20, BASELINES_MAX = 16 };

/* ---- one variant's part ---- */

static void read_variant(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    char mode[16];
    struct rue_variant *variant = &out->variant;
    const json_t *told = rue_json_object(reader, object, "variant", false);
    size_t length = rue_json_enter(reader, "variant");
    rue_json_copy_text(reader, told, "mode", true, mode, sizeof mode);
    rue_json_copy_text(reader, told, "format", false, variant->format, sizeof variant->format);
    rue_json_copy_text(reader, told, "dtype", true, variant->dtype, sizeof variant->dtype);
    rue_json_copy_text(reader, told, "path", true, variant->path, sizeof variant->path);
    rue_json_copy_text(reader, told, "image_key", true, variant->image_key, sizeof variant->image_key);
    rue_json_copy_text(reader, told, "label_key", true, variant->label_key, sizeof variant->label_key);
    int found = rue_word_find(rue_mode_names, RUE_MODE_COUNT, mode);
    if (mode[0] && found < 0) rue_json_refuse(reader, "mode", "raw, preprocessed or null");
    out->mode_known = found >= 0;
    if (out->mode_known) variant->mode = (enum rue_mode)found;
    rue_json_leave(reader, length);
}

static void read_workload(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    rue_error why = {0};
    const json_t *told = rue_json_object(reader, object, "workload", true);
    if (!told) return;
    out->has_workload = true;
    if (rue_protocol_decode_workload(told, &out->workload, &why) != RUE_OK)
        rue_json_refuse(reader, "workload", "how data are loaded");
}

/* A list of at most `most` elements, and room for that many of `bytes` each. */
static const json_t *read_list(struct rue_json_reader *reader, const json_t *object, const char *key,
                               size_t most, size_t bytes, size_t *count, void *room)
{
    const json_t *list = rue_json_array(reader, object, key);
    if (json_array_size(list) > most) rue_json_refuse(reader, key, "a list of a fit length");
    if (reader->status != RUE_OK) return NULL;
    void *made = calloc(json_array_size(list) + 1, bytes);
    if (!made) {
        reader->status = rue_fail_memory(reader->error, "a recommendation", json_array_size(list) * bytes);
        return NULL;
    }
    *count = json_array_size(list);
    *(void **)room = made;
    return list;
}

static void read_models(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    size_t i;
    json_t *item;
    const json_t *list =
        read_list(reader, object, "models", MODELS_MAX, sizeof *out->models, &out->model_count, &out->models);
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && json_string_length(item) < RUE_MODEL_NAME_BYTES)
            snprintf(out->models[i].name, RUE_MODEL_NAME_BYTES, "%s", json_string_value(item));
        else
            rue_json_refuse(reader, "models", "a list of names");
    }
}

/* By what it was ranked. */
static void read_rules(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *weights = rue_json_object(reader, object, "weights", true);
    if (json_object_get(object, "goal"))
        out->goal = (enum rue_goal)rue_json_word(reader, object, "goal", rue_goal_names, RUE_GOAL_COUNT);
    if (json_object_get(object, "objective"))
        out->objective = (enum rue_objective)rue_json_word(reader, object, "objective", rue_objective_names,
                                                           RUE_OBJECTIVE_COUNT);
    size_t length = rue_json_enter(reader, "weights");
    for (size_t m = 0; m < out->model_count; m++) {
        const char *name = out->models[m].name;
        out->models[m].weight = weights ? rue_json_number_of(reader, weights, name, false) : 1;
        if (!(out->models[m].weight > 0)) rue_json_refuse(reader, name, "a positive number");
    }
    rue_json_leave(reader, length);
}

static bool read_config(struct rue_json_reader *reader, const json_t *object, struct rue_config *out)
{
    rue_error why = {0};
    const json_t *told = rue_json_object(reader, object, "config", true);
    if (!told) return false;
    if (rue_protocol_decode_config(told, reader->knobs, out, &why) == RUE_OK) return true;
    rue_json_refuse(reader, "config", "a configuration");
    return false;
}

/* Whether it failed or was infeasible on some model, one that comes too late there included. */
static bool read_unfit(struct rue_json_reader *reader, const json_t *row)
{
    size_t i;
    json_t *item;
    bool unfit = false;
    if (!json_object_get(row, "misses")) return false;
    const json_t *list = rue_json_array(reader, row, "misses");
    size_t length = rue_json_enter(reader, "misses");
    json_array_foreach(list, i, item)
    {
        char text[32];
        rue_json_copy_text(reader, item, "status", false, text, sizeof text);
        unfit |= strcmp(text, "unmeasured") != 0;
    }
    rue_json_leave(reader, length);
    return unfit;
}

static void read_row(struct rue_json_reader *reader, const json_t *row, size_t index,
                     struct rue_recommended *out)
{
    if (!json_is_object(row)) rue_json_refuse(reader, NULL, "an object");
    if (!read_config(reader, row, &out->configs[index])) rue_json_refuse(reader, "config", "a configuration");
    out->unfit[index] = read_unfit(reader, row);
    bool known = out->goal == RUE_GOAL_TIME;
    const json_t *times = rue_json_object(reader, row, "end_to_end_ns", !known);
    size_t length = rue_json_enter(reader, "end_to_end_ns");
    for (size_t m = 0; m < out->model_count; m++) {
        double ns = known ? (double)rue_json_count(reader, times, out->models[m].name, true, TIME_MAX_NS) : 0;
        out->time_s[m * out->config_count + index] = ns > 0 ? ns / 1e9 : NAN;
    }
    rue_json_leave(reader, length);
}

static void read_rows(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    size_t i;
    json_t *item;
    const json_t *list = read_list(reader, object, "configs", CONFIGS_MAX, sizeof *out->configs,
                                   &out->config_count, &out->configs);
    if (!list) return;
    out->time_s = calloc(out->model_count * out->config_count + 1, sizeof *out->time_s);
    out->unfit = calloc(out->config_count + 1, sizeof *out->unfit);
    if (!out->time_s || !out->unfit) {
        reader->status = rue_fail_memory(reader->error, "a recommendation", out->config_count);
        return;
    }
    size_t outer = rue_json_enter(reader, "configs");
    json_array_foreach(list, i, item)
    {
        size_t length = rue_json_enter_at(reader, i);
        read_row(reader, item, i, out);
        rue_json_leave(reader, length);
        if (reader->status != RUE_OK) return;
    }
    rue_json_leave(reader, outer);
}

static size_t config_number(const struct rue_recommended *recommended, const struct rue_config *config)
{
    for (size_t c = 0; c < recommended->config_count; c++)
        if (rue_config_equal(config, &recommended->configs[c])) return c;
    return RUE_NONE;
}

static void read_best(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    struct rue_config best;
    out->best = read_config(reader, object, &best) ? config_number(out, &best) : RUE_NONE;
    const json_t *config = json_object_get(object, "config");
    if (!config || (!json_is_null(config) && out->best == RUE_NONE))
        rue_json_refuse(reader, "config", "one of the configs");
    const json_t *claim = rue_json_object(reader, object, "certificate", true);
    out->bound_ratio = NAN;
    if (!claim) return;
    out->bound_ratio = rue_json_number_of(reader, claim, "bound_ratio", false);
    if (!(out->bound_ratio >= 0)) rue_json_refuse(reader, "certificate", "a bound");
}

/* Of the baselines the one that came nearest. Older files have none. */
static void read_baselines(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out)
{
    const json_t *own = rue_json_object(reader, object, "baselines", true), *rows;
    double least = INFINITY;
    out->baseline = RUE_NONE;
    if (!own) return;
    size_t count = rue_json_list(reader, own, "rows", BASELINES_MAX, &rows);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i), *gain = rue_json_object(reader, row, "gain", true);
        struct rue_config config;
        double ratio = gain ? rue_json_number_of(reader, gain, "speedup_ratio", false) : NAN;
        if (!(ratio < least) || !read_config(reader, row, &config)) continue;
        size_t column = config_number(out, &config);
        if (column == RUE_NONE) rue_json_refuse(reader, "baselines", "some of the configs");
        least = ratio;
        out->baseline = column;
        rue_json_copy_text(reader, row, "name", false, out->baseline_name, sizeof out->baseline_name);
    }
}

static void read_recommended(struct rue_json_reader *reader, const json_t *object,
                             struct rue_recommended *out)
{
    if (!json_is_object(object)) rue_json_refuse(reader, NULL, "an object");
    read_variant(reader, object, out);
    rue_json_copy_text(reader, object, "measured_with", false, out->measured_with, sizeof out->measured_with);
    rue_json_copy_text(reader, object, "data_digest", true, out->data_digest, sizeof out->data_digest);
    out->sample = rue_json_bool(reader, object, "sample");
    out->job_images = rue_json_count(reader, object, "job_images", true, INT64_MAX);
    out->max_first_batch_ns = rue_json_count(reader, object, "max_first_batch_ns", true, INT64_MAX);
    read_workload(reader, object, out);
    read_models(reader, object, out);
    read_rules(reader, object, out);
    read_rows(reader, object, out);
    read_best(reader, object, out);
    read_baselines(reader, object, out);
    const json_t *forecast = rue_json_object(reader, object, "forecast", true);
    if (forecast && reader->status == RUE_OK) rue_knowledge_read(reader, forecast, out);
}

/* ---- the file ---- */

static void read_provenance(struct rue_json_reader *reader, const json_t *root,
                            struct rue_recommendation *out)
{
    char clock[16];
    const json_t *object = rue_json_object(reader, root, "provenance", false);
    size_t length = rue_json_enter(reader, "provenance");
    rue_json_copy_text(reader, object, "runner", true, out->runner, sizeof out->runner);
    rue_json_copy_text(reader, object, "rue_version", false, out->rue_version, sizeof out->rue_version);
    rue_json_copy_text(reader, object, "cpu", true, out->cpu, sizeof out->cpu);
    rue_json_copy_text(reader, object, "clock", false, clock, sizeof clock);
    out->usable_cpus = (int)rue_json_count(reader, object, "usable_cpus", true, CPUS_MAX);
    out->virtual_clock = strcmp(clock, "virtual") == 0;
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

static void read_root(struct rue_json_reader *reader, const json_t *root, struct rue_recommendation *out)
{
    size_t i;
    json_t *item;
    char format[64];
    if (!json_is_object(root)) rue_json_refuse(reader, NULL, "a recommendation");
    rue_json_copy_text(reader, root, "format", false, format, sizeof format);
    if (reader->status == RUE_OK && strcmp(format, "rue.recommendation/1") != 0)
        rue_json_refuse(reader, "format", "rue.recommendation/1");
    if (rue_knob_json_read(json_object_get(root, "knobs"), &reader->knobs, NULL) != RUE_OK)
        rue_json_refuse(reader, "knobs", "a list of knobs");
    read_provenance(reader, root, out);
    const json_t *list =
        read_list(reader, root, "recommendations", VARIANTS_MAX, sizeof *out->at, &out->count, &out->at);
    size_t outer = rue_json_enter(reader, "recommendations");
    json_array_foreach(list, i, item)
    {
        size_t length = rue_json_enter_at(reader, i);
        read_recommended(reader, item, &out->at[i]);
        rue_json_leave(reader, length);
        if (reader->status != RUE_OK) return;
    }
    rue_json_leave(reader, outer);
}

/* A regular file, or that of this name in a folder; anything else, a FIFO for one, would have us wait. */
static rue_status read_file(const char *path, struct rue_recommendation *out, rue_error *error)
{
    char inside[PATH_MAX + 32];
    struct stat about;
    json_t *root;
    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(inside, sizeof inside, "%s%s", path, folder ? "/recommendation.json" : "");
    rue_status status = rue_json_file_read(inside, "give a recommendation.json", &root, error);
    if (status != RUE_OK) return status;
    struct rue_json_reader reader = {
        .path = path, .advice = "give a recommendation.json as 'rue tune' wrote it", .error = error};
    read_root(&reader, root, out);
    json_decref(root);
    return reader.status;
}

void rue_recommendation_close(struct rue_recommendation *recommendation)
{
    if (!recommendation) return;
    for (size_t i = 0; i < recommendation->count; i++) {
        free(recommendation->at[i].models);
        free(recommendation->at[i].configs);
        free(recommendation->at[i].time_s);
        free(recommendation->at[i].unfit);
        rue_knowledge_close(recommendation->at[i].knowledge);
    }
    free(recommendation->at);
    free(recommendation->machine_json);
    free(recommendation);
}

rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out, rue_error *error)
{
    struct rue_recommendation *recommendation = calloc(1, sizeof *recommendation);
    if (!recommendation) return rue_fail_memory(error, "a recommendation", sizeof *recommendation);
    recommendation->path = path;
    rue_status status = read_file(path, recommendation, error);
    if (status != RUE_OK) return rue_recommendation_close(recommendation), status;
    *out = recommendation;
    return RUE_OK;
}

int rue_recommendation_cpus(const struct rue_recommendation *recommendation)
{
    int cpus = rue_json_number(recommendation->machine_json, "usable_cpus");
    if (cpus <= 0) cpus = recommendation->usable_cpus;
    return cpus > 0 ? cpus : 1;
}

rue_status rue_recommended_know(struct rue_recommended *recommended, int cpus, bool in_turn, rue_error *error)
{
    const struct rue_setup_grid grid = {recommended->model_count, recommended->config_count,
                                        recommended->configs};
    struct rue_strategy_setup strategy_setup = rue_strategy_setup_of(grid, recommended->job_images);
    strategy_setup.runner.cpus = cpus;
    strategy_setup.runner.in_turn = in_turn;
    strategy_setup.stop = rue_interrupt_status;
    if (recommended->knowledge) return RUE_OK;
    if (!grid.scenario_count || !grid.config_count || !strategy_setup.job.images)
        return rue_fail(error, RUE_DATA, "no times of a job of known length");
    return rue_prediction_learn_jobs(&strategy_setup, recommended->time_s, &recommended->knowledge, error);
}
