#include "runner_lines.h"

#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "json_memory.h"

static char *refuse(json_t *id, const rue_error *error)
{
    bool wants = error->status == RUE_INFEASIBLE || error->status == RUE_MEMORY;
    return rue_protocol_encode_failure(id, wants ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED, error->message);
}

static char *answer_hello(const struct rue_answerer *answerer, void *state)
{
    rue_error error = {0};
    json_t *greeting = answerer->hello(state, &error);
    if (!greeting) return refuse(NULL, &error);
    char *line = rue_json_dump(greeting, JSON_COMPACT);
    json_decref(greeting);
    return line;
}

static char *answer_open(const struct rue_answerer *answerer, void *state, const json_t *object)
{
    rue_error error = {0};
    struct rue_open_request request;
    struct rue_opened opened = {.cache = RUE_CACHE_AS_IS};
    rue_status status = rue_protocol_decode_open(object, &request, &error);
    if (status == RUE_OK) status = answerer->open(state, &request, &opened, &error);
    return status == RUE_OK ? rue_protocol_encode_opened(&opened) : refuse(NULL, &error);
}

static char *answer_trial(const struct rue_answerer *answerer, void *state, json_t *object)
{
    rue_error error = {0};
    struct rue_trial_request request;
    struct rue_trial_result result = rue_trial_result_empty();
    json_t *id = json_object_get(object, "id");
    rue_status status = rue_protocol_decode_trial(object, &request, &error);
    if (status == RUE_OK) status = answerer->trial(state, object, &request, &result, &error);
    char *line = status == RUE_OK ? rue_protocol_encode_result(id, &result) : refuse(id, &error);
    rue_trial_result_close(&result);
    return line;
}

static char *answer(const struct rue_answerer *answerer, void *state, const char *line)
{
    rue_error error = {0};
    json_t *request;
    if (rue_protocol_parse(line, &request, &error) != RUE_OK) return refuse(NULL, &error);
    const char *op = json_string_value(json_object_get(request, "op"));
    char *reply;
    if (op && strcmp(op, "hello") == 0)
        reply = answer_hello(answerer, state);
    else if (op && strcmp(op, "open") == 0)
        reply = answer_open(answerer, state, request);
    else if (op && strcmp(op, "trial") == 0)
        reply = answer_trial(answerer, state, request);
    else
        reply = rue_protocol_encode_failure(json_object_get(request, "id"), RUE_TRIAL_FAILED,
                                            "unknown op: known are hello, open, trial");
    json_decref(request);
    return reply;
}

/* The reply to a line, owned by the caller; what was read or written without enough memory is no answer. */
static char *answer_whole(const struct rue_answerer *answerer, void *state, const char *line)
{
    static const char no_memory[] =
        "{\"id\":null,\"status\":\"infeasible\",\"reason\":\"the runner is out of memory\"}";
    unsigned failures = rue_json_memory_failures();
    char *reply = answer(answerer, state, line);
    if (reply && rue_json_memory_failures() == failures) return reply;
    free(reply);
    return strdup(no_memory);
}

rue_status rue_runner_lines_serve(const struct rue_answerer *answerer, void *state, FILE *in, FILE *out,
                                  rue_error *error)
{
    rue_status status = RUE_OK;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    rue_json_memory_watch();
    while (status == RUE_OK && (length = getline(&line, &capacity, in)) >= 0) {
        if (strspn(line, " \t\r\n") == (size_t)length) continue;
        char *reply = answer_whole(answerer, state, line);
        if (!reply || fprintf(out, "%s\n", reply) < 0 || fflush(out) != 0)
            status = rue_fail(error, RUE_INTERNAL, "cannot write to the tuner");
        free(reply);
    }
    free(line);
    return status;
}
