#include "runner_lines.h"

#include <stdlib.h>
#include <string.h>

#include "json_memory.h"
#include "protocol.h"

char *rue_runner_lines_refuse(json_t *id, const rue_error *error)
{
    bool wants = error->status == RUE_INFEASIBLE || error->status == RUE_MEMORY;
    return rue_protocol_encode_failure(id, wants ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED, error->message);
}

static char *answer(const struct rue_answerer *answerer, void *state, const char *line)
{
    rue_error error = {0};
    json_t *request;
    if (rue_protocol_parse(line, &request, &error) != RUE_OK) return rue_runner_lines_refuse(NULL, &error);
    const char *op = json_string_value(json_object_get(request, "op"));
    char *reply;
    if (op && strcmp(op, "hello") == 0)
        reply = answerer->hello(state, request);
    else if (op && strcmp(op, "open") == 0)
        reply = answerer->open(state, request);
    else if (op && strcmp(op, "trial") == 0)
        reply = answerer->trial(state, request);
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
