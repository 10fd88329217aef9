/* Requests and replies for the tests of the protocol. */
#ifndef RUE_PROTOCOL_FIXTURE_H
#define RUE_PROTOCOL_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

static inline json_t *protocol_object(const char *line)
{
    json_t *object;
    rue_error error = {0};
    cr_assert_eq(rue_protocol_parse(line, &object, &error), RUE_OK, "%s: %s", line, error.message);
    return object;
}

/* Parses the line, which is freed. */
static inline json_t *protocol_taken(char *line)
{
    cr_assert_not_null(line, "nothing was encoded");
    cr_assert_null(strchr(line, '\n'), "a line has no newline in it: %s", line);
    json_t *object = protocol_object(line);
    free(line);
    return object;
}

/* A request in which nothing has its default. */
static inline struct rue_trial_request protocol_request(void)
{
    struct rue_trial_request request = {
        .id = 17,
        .measure = RUE_JOINT,
        .variant = {.mode = RUE_PREPROCESSED,
                    .format = "tensor",
                    .dtype = "uint8",
                    .path = "/data/gr\xc3\xbc\xc3\x9f \"x\""},
        .model = "vit_b_16",
        .config = {.value = {64, 12, 5, RUE_PARALLEL_SAMPLE}},
        .workload = {.shuffle = false,
                     .drop_last = true,
                     .seed = INT64_MAX,
                     .epoch = 3,
                     .rank = 2,
                     .world_size = 4,
                     .bad_images = RUE_BAD_REPLACE,
                     .max_pixels = 60000,
                     .decode = RUE_DECODE_FAST,
                     .batch_dtype = RUE_UINT8,
                     .transform = "eval",
                     .cache = "as-is"},
        .images = 2048,
        .job_images = UINT64_C(1) << 40,
        .batches = 9,
        .limits = {.time_ns = 123456789, .memory_bytes = UINT64_C(1) << 50},
        .detail = true,
    };
    return request;
}

/* A result of protocol_request() that can be true, in which every field has a value of its own, and the times
 * of each batch; its lists are owned. */
static inline struct rue_trial_result protocol_result(void)
{
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.config = protocol_request().config;
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        char *at = (char *)&result + rue_trial_fields[i].offset;
        if (rue_trial_fields[i].real)
            *(double *)at = 0.25 + (double)i;
        else
            *(int64_t *)at = INT64_C(1000000007) * (int64_t)(i + 1);
    }
    result.images = 2048;
    result.batches = 32;
    result.end_to_end_ns = INT64_C(1000000000007);
    result.cost_ns = INT64_C(1000000000009);
    result.bad_images = 17;
    result.cache_missed = 1;
    result.refused = 0;
    size_t count = (size_t)result.batches;
    result.ready_count = result.load_count = result.compute_count = count;
    result.batch_ready_ns = calloc(count, sizeof(uint64_t));
    result.batch_load_ns = calloc(count, sizeof(uint64_t));
    result.batch_compute_ns = calloc(count, sizeof(uint64_t));
    for (size_t i = 0; i < count; i++) {
        result.batch_ready_ns[i] = 1000 * i + 1;
        result.batch_load_ns[i] = 10 * i + 2;
        result.batch_compute_ns[i] = 10 * i + 3;
    }
    return result;
}

#endif
