#include "trial_reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "protocol.h"
#include "reply_rules.h"

static bool absent(const json_t *member)
{
    return !member || json_is_null(member);
}

static bool is_reply_integer(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= RUE_TRIAL_FIELD_MAX;
}

static bool decode_fields(const json_t *reply, struct rue_trial_result *out, rue_error *error)
{
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        const json_t *value = json_object_get(reply, field->name);
        char *at = (char *)out + field->offset;
        if (absent(value)) continue;
        if (field->real && json_is_number(value) && rue_trial_field_holds(json_number_value(value))) {
            *(double *)at = json_number_value(value);
        } else if (!field->real && is_reply_integer(value)) {
            *(int64_t *)at = json_integer_value(value);
        } else {
            rue_fail(error, RUE_RUNNER, "\"%s\" is not %s from 0 to 2^58", field->name,
                     field->real ? "a number" : "an integer");
            return false;
        }
    }
    return true;
}

static bool decode_times(const json_t *reply, const char *key, uint64_t **times, size_t *count,
                         rue_error *error)
{
    const json_t *list = json_object_get(reply, key);
    size_t n = json_array_size(list);
    if (absent(list)) return true;
    *times = n ? calloc(n, sizeof **times) : NULL;
    bool good = json_is_array(list) && (*times || n == 0);
    for (size_t i = 0; good && i < n; i++) {
        good = is_reply_integer(json_array_get(list, i));
        (*times)[i] = (uint64_t)json_integer_value(json_array_get(list, i));
    }
    *count = good ? n : 0;
    if (!good) rue_fail(error, RUE_RUNNER, "\"%s\" is not a list of integers from 0 to 2^58", key);
    return good;
}

/* The times of each batch, where they were asked for: some runners send them always. */
static bool decode_lists(const json_t *reply, const struct rue_trial_request *request,
                         struct rue_trial_result *out, rue_error *error)
{
    bool compute = request->measure == RUE_COMPUTE;
    if (request->detail &&
        (!decode_times(reply, "batch_ready_ns", &out->batch_ready_ns, &out->ready_count, error) ||
         !decode_times(reply, "batch_load_ns", &out->batch_load_ns, &out->load_count, error)))
        return false;
    return !(request->detail || compute) ||
           decode_times(reply, "batch_compute_ns", &out->batch_compute_ns, &out->compute_count, error);
}

static bool decode_config(const json_t *reply, const struct rue_trial_request *request,
                          struct rue_trial_result *out, rue_error *error)
{
    char asked[RUE_CONFIG_TEXT_BYTES], ran[RUE_CONFIG_TEXT_BYTES];
    const json_t *config = json_object_get(reply, "config");
    if (config &&
        rue_protocol_decode_config(config, rue_config_knobs(&request->config), &out->config, error) != RUE_OK)
        return false;
    if (out->outcome != RUE_TRIAL_OK || request->measure == RUE_COMPUTE) return true;
    if (config && rue_config_equal(&request->config, &out->config)) return true;
    rue_config_canonical(&request->config, asked);
    rue_config_canonical(&out->config, ran);
    if (config)
        rue_fail(error, RUE_RUNNER, "it ran %s instead of %s", ran, asked);
    else
        rue_fail(error, RUE_RUNNER, "it does not say which configuration ran");
    return false;
}

static bool obeys_rules(const struct rue_trial_request *request, const struct rue_trial_result *result,
                        rue_error *error)
{
    const struct rue_reply_rule *broken = rue_reply_rules_broken(request, result);
    if (broken) rue_fail(error, RUE_RUNNER, "%s", broken->otherwise);
    return !broken;
}

static bool decode_outcome(const json_t *reply, struct rue_trial_result *out, rue_error *error)
{
    const char *status = json_string_value(json_object_get(reply, "status"));
    int outcome = status ? rue_word_find(rue_outcome_names, RUE_OUTCOME_COUNT, status) : -1;
    if (outcome < 0) {
        rue_fail(error, RUE_RUNNER, "\"status\" is missing or unknown");
        return false;
    }
    out->outcome = (enum rue_outcome)outcome;
    /* An ok trial may have something to say as well: which damaged image was replaced, for one. */
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (!reason) reason = outcome == RUE_TRIAL_OK ? "" : "no reason given";
    rue_error_shorten(reason, out->reason, sizeof out->reason);
    return true;
}

void rue_trial_reply_decode(const json_t *reply, const struct rue_trial_request *request,
                            struct rue_trial_result *out)
{
    rue_error error = {0};
    const struct rue_trial_result empty = rue_trial_result_empty();
    bool spent = json_is_true(json_object_get(reply, "spent"));
    *out = empty;
    out->config = request->config;
    bool good = decode_outcome(reply, out, &error) && decode_config(reply, request, out, &error) &&
                decode_fields(reply, out, &error) && decode_lists(reply, request, out, &error) &&
                obeys_rules(request, out, &error);
    if (!good) {
        rue_trial_result_close(out);
        *out = empty;
        out->config = request->config;
        snprintf(out->reason, sizeof out->reason, "the runner's reply is wrong: %.400s", error.message);
    }
    if (out->ready_count > RUE_BATCH_TIMES_MAX || out->compute_count > RUE_BATCH_TIMES_MAX ||
        out->load_count > RUE_BATCH_TIMES_MAX)
        rue_trial_result_close(out);
    out->spent = spent;
}
