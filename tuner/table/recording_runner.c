#include "recording_runner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "runner_lines.h"

static json_t *models_json(const struct rue_recording *recording)
{
    json_t *list = json_array();
    for (size_t i = 0; i < recording->model_count; i++)
        json_array_append_new(list, json_string(recording->models[i]));
    return list;
}

static json_t *variants_json(const struct rue_recording *recording)
{
    json_t *list = json_array();
    for (size_t v = 0; v < recording->variant_count; v++)
        json_array_append_new(list, rue_protocol_variant_json(&recording->variants[v]));
    return list;
}

static json_t *space_json(const struct rue_recording *recording)
{
    json_t *space = json_object();
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        if (!recording->knobs[k]) continue;
        json_t *values = json_array();
        for (int i = 0; i < recording->space.count[k]; i++) {
            json_array_append_new(values, rue_json_knob(rue_own_knobs.at[k], recording->space.values[k][i]));
        }
        json_object_set_new(space, rue_own_knobs.at[k]->name, values);
    }
    return space;
}

static json_t *answer_hello(void *state, rue_error *error)
{
    const struct rue_recording *recording = state;
    char name[128];
    rue_recording_name(recording, name, sizeof name);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:[s], s:s, s:b, s:I, s:o, s:o, s:o}", "protocol", RUE_PROTOCOL_NAME,
                  "runner", name, "loader", "imported", "measures", "joint", "clock", "virtual", "whole_jobs",
                  1, "answers", (json_int_t)recording->answers, "models", models_json(recording), "variants",
                  variants_json(recording), "space", space_json(recording));
    if (object && !recording->assumed)
        json_object_set_new(object, "images", json_integer((json_int_t)recording->job_images));
    if (!object) rue_fail_memory(error, "a greeting", 256);
    return object;
}

static rue_status answer_open(void *state, const struct rue_open_request *request, struct rue_opened *out,
                              rue_error *error)
{
    const struct rue_recording *recording = state;
    (void)error;
    out->images = recording->job_images;
    rue_recording_digest(recording, &request->variant, out->digest);
    return RUE_OK;
}

/* Why the request cannot be answered from a table; false where it can. */
static bool cannot_answer(const struct rue_recording *recording, const struct rue_trial_request *request,
                          char *out, size_t bytes)
{
    if (request->measure != RUE_JOINT)
        snprintf(out, bytes, "a table of times knows joint trials alone, not '%s'",
                 rue_measure_names[request->measure]);
    else if (request->images < request->job_images)
        snprintf(out, bytes, "a table of times knows whole jobs alone, not %" PRIu64 " of %" PRIu64 " images",
                 request->images, request->job_images);
    else if (!recording->assumed && request->job_images != recording->job_images)
        snprintf(out, bytes, "the table's jobs are of %" PRIu64 " images, not %" PRIu64,
                 recording->job_images, request->job_images);
    else
        return false;
    return true;
}

static rue_status answer_trial(void *state, json_t *object, const struct rue_trial_request *request,
                               struct rue_trial_result *result, rue_error *error)
{
    const struct rue_recording *recording = state;
    (void)object, (void)error;
    char label[RUE_CONFIG_TEXT_BYTES];
    const struct rue_cell *cell =
        rue_recording_cell(recording, &request->variant, request->model, &request->config);
    result->config = request->config;
    result->cost_ns = 0;
    if (cannot_answer(recording, request, result->reason, sizeof result->reason)) return RUE_OK;
    if (!cell) {
        rue_config_label(&request->config, label);
        result->outcome = RUE_TRIAL_INFEASIBLE;
        snprintf(result->reason, sizeof result->reason, "%s has no time of %s with %s", recording->table.name,
                 request->model, label);
        return RUE_OK;
    }
    if (cell->state != RUE_CELL_OK) {
        result->outcome = cell->state == RUE_CELL_INFEASIBLE ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED;
        snprintf(result->reason, sizeof result->reason, "%s", cell->reason);
        return RUE_OK;
    }
    result->outcome = RUE_TRIAL_OK;
    result->end_to_end_ns = result->cost_ns =
        (int64_t)(cell->times_ns[request->repeat % cell->repeats] + 0.5);
    result->images = (int64_t)request->job_images;
    return RUE_OK;
}

rue_status rue_recording_serve(struct rue_recording *recording, FILE *in, FILE *out, rue_error *error)
{
    static const struct rue_answerer answerer = {answer_hello, answer_open, answer_trial};
    return rue_runner_lines_serve(&answerer, recording, in, out, error);
}
