/* rue's own runner: its answers to the lines of a tuner. */
#include <criterion/criterion.h>

#include "data_fixture.h"
#include "protocol_fixture.h"
#include "runner_server.h"

static char *answers, *next;

static void end(void)
{
    free(answers);
    temporary_folder_remove();
}

TestSuite(runner_server, .init = temporary_folder_make, .fini = end, .timeout = 60);

/* Sends the lines, and keeps the answers. */
static void serve(const char *lines)
{
    rue_error error = {0};
    size_t bytes;
    free(answers);
    answers = NULL;
    FILE *in = fmemopen((char *)lines, strlen(lines), "r"), *out = open_memstream(&answers, &bytes);
    cr_assert_eq(rue_runner_serve(in, out, true, &error), RUE_OK, "%s", error.message);
    fclose(in);
    fclose(out);
    next = answers;
}

/* The next answer; NULL: there is none. It is to be freed. */
static json_t *receive(void)
{
    char *line = strsep(&next, "\n");
    return line && *line ? json_loads(line, 0, NULL) : NULL;
}

static const char *text_of(const json_t *answer, const char *key)
{
    const char *text = json_string_value(json_object_get(answer, key));
    return text ? text : "";
}

/* One line has one answer, in which `key` contains these words. */
static void expect(const char *line, const char *key, const char *words)
{
    serve(line);
    json_t *answer = receive();
    cr_assert(strstr(text_of(answer, key), words), "%s: %s", line, answers);
    cr_assert_null(receive());
    json_decref(answer);
}

Test(runner_server, it_says_what_it_can_measure)
{
    struct rue_hello hello;
    rue_error error = {0};
    serve("\n  \n{\"op\":\"hello\",\"protocol\":\"rue.runner/1\"}\n");
    json_t *answer = receive();
    cr_assert_eq(rue_protocol_decode_hello(answer, &hello, &error), RUE_OK, "%s", error.message);
    cr_assert_str_eq(hello.loader, "rue");
    cr_assert(hello.measures[RUE_JOINT] && hello.measures[RUE_LOAD] && hello.measures[RUE_COMPUTE]);
    cr_assert(strstr(hello.machine_json, "usable_cpus"));
    cr_assert_null(receive(), "empty lines are skipped");
    json_decref(answer);
}

Test(runner_server, a_line_that_is_wrong_is_answered_and_the_next_one_is_served)
{
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"nonsense", ""},
        {"{\"op\":\"dance\",\"id\":4}", "unknown op 'dance': use hello, open or trial"},
        {"{}", "unknown op '': use hello, open or trial"},
        {"{\"op\":\"open\"}", "variant"},
        {"{\"op\":\"trial\",\"id\":3}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[256];
        snprintf(lines, sizeof lines, "%s\n{\"op\":\"hello\"}\n", cases[i].line);
        serve(lines);
        json_t *failure = receive(), *hello = receive();
        cr_assert_str_eq(text_of(failure, "status"), "failed");
        cr_assert(strstr(text_of(failure, "reason"), cases[i].reason) && *text_of(failure, "reason"), "%s",
                  answers);
        cr_assert_str_eq(text_of(hello, "loader"), "rue");
        json_decref(failure);
        json_decref(hello);
    }
}

/* ---- data and trials ---- */

static struct rue_variant photos(void)
{
    struct rue_variant variant = {.mode = RUE_RAW, .format = "folder"};
    data_photos_make(6);
    snprintf(variant.path, sizeof variant.path, "%s", temporary_path("photos"));
    return variant;
}

/* `model`: "" for none; `more`: what follows the request. */
static void serve_trial(enum rue_measure measure, const struct rue_variant *variant, const char *model,
                        const char *profile, const char *more)
{
    struct rue_trial_request request = {.id = 5,
                                        .measure = measure,
                                        .variant = *variant,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .images = 6,
                                        .job_images = 6,
                                        .batches = 2,
                                        .waits = *more};
    char *lines;
    request.config.value[RUE_BATCH_SIZE] = 2;
    request.config.value[RUE_NUM_WORKERS] = 1;
    request.config.value[RUE_PIN_MEMORY] = false;
    snprintf(request.model, sizeof request.model, "%s", model);
    char *line = rue_protocol_encode_trial(&request, profile);
    if (asprintf(&lines, "%s\n%s", line, more) < 0) abort();
    serve(lines);
    free(line);
    free(lines);
}

Test(runner_server, trials_load_compute_and_do_both)
{
    struct rue_variant variant = photos();
    static const char *const models[RUE_MEASURE_COUNT] = {
        [RUE_JOINT] = "sleep:1us/image", [RUE_LOAD] = "", [RUE_COMPUTE] = "sleep:1us/image"};
    for (int measure = 0; measure < RUE_MEASURE_COUNT; measure++) {
        serve_trial((enum rue_measure)measure, &variant, models[measure], NULL, "");
        json_t *answer = receive();
        cr_assert_str_eq(text_of(answer, "status"), "ok", "%s", answers);
        cr_assert_eq(json_integer_value(json_object_get(answer, "images")), measure == RUE_COMPUTE ? 4 : 6);
        json_decref(answer);
    }
}

Test(runner_server, a_model_may_be_sent_with_its_times)
{
    struct rue_variant variant = photos();
    serve_trial(RUE_COMPUTE, &variant, "mine", "{\"per_batch_ns\":1000,\"per_image_ns\":10}", "");
    json_t *answer = receive();
    cr_assert_str_eq(text_of(answer, "status"), "ok", "%s", answers);
    json_decref(answer);
    serve_trial(RUE_COMPUTE, &variant, "mine", NULL, "");
    answer = receive();
    cr_assert_str_eq(text_of(answer, "status"), "failed");
    cr_assert(strstr(text_of(answer, "reason"), "mine"), "%s", answers);
    json_decref(answer);
    serve_trial(RUE_COMPUTE, &variant, "mine", "{\"per_batch_ns\":-1}", "");
    answer = receive();
    cr_assert(strstr(text_of(answer, "reason"), "per_batch_ns"), "%s", answers);
    json_decref(answer);
}

Test(runner_server, a_trial_that_waits_starts_when_it_is_told_to)
{
    struct rue_variant variant = photos();
    serve_trial(RUE_LOAD, &variant, "", NULL, RUE_PROTOCOL_START "\n");
    json_t *ready = receive(), *answer = receive();
    cr_assert_str_eq(text_of(ready, "status"), "ready");
    cr_assert_str_eq(text_of(answer, "status"), "ok", "%s", answers);
    json_decref(ready);
    json_decref(answer);
    serve_trial(RUE_LOAD, &variant, "", NULL, RUE_PROTOCOL_SKIP "\n");
    ready = receive(), answer = receive();
    cr_assert_str_eq(text_of(answer, "status"), "failed");
    cr_assert(strstr(text_of(answer, "reason"), "the line after \"ready\" is not "), "%s", answers);
    json_decref(ready);
    json_decref(answer);
}

Test(runner_server, data_are_opened_with_their_facts_and_faults)
{
    char line[1024];
    struct rue_variant variant = photos();
    struct rue_workload workload = rue_workload_default();
    data_photo_damage(2);
    char *open = rue_protocol_encode_open(&variant, &workload, 0);
    snprintf(line, sizeof line, "%s\n", open);
    expect(line, "note", "1 of 6 images is damaged or unreadable, such as ");
    cr_assert(strstr(answers, "\"images\":6"), "%s", answers);
    free(open);
    snprintf(variant.path, sizeof variant.path, "%s", temporary_path("none"));
    open = rue_protocol_encode_open(&variant, &workload, 0);
    snprintf(line, sizeof line, "%s\n", open);
    expect(line, "reason", "none");
    free(open);
}

Test(runner_server, cold_data_are_tried_when_they_are_opened)
{
    char line[1024];
    struct rue_variant variant = photos();
    struct rue_workload workload = rue_workload_default();
    strcpy(workload.cache, "cold");
    char *open = rue_protocol_encode_open(&variant, &workload, 6);
    snprintf(line, sizeof line, "%s\n", open);
    serve(line);
    json_t *answer = receive();
    bool cold = strcmp(text_of(answer, "cache"), "cold") == 0;
    cr_assert(cold || *text_of(answer, "cache_reason"), "%s", answers);
    json_decref(answer);
    free(open);
}

Test(runner_server, more_data_than_it_keeps_open_are_opened_again)
{
    char *lines = strdup(""), *more;
    struct rue_variant variant = photos();
    struct rue_workload workload = rue_workload_default();
    for (int i = 0; i < 20; i++) {
        snprintf(variant.subset, sizeof variant.subset, "0:%d", 1 + i % 6);
        snprintf(variant.image_key, sizeof variant.image_key, "%s", i < 6 ? "" : i < 12 ? "jpg" : "png");
        char *open = rue_protocol_encode_open(&variant, &workload, 0);
        if (asprintf(&more, "%s%s\n", lines, open) < 0) abort();
        free(lines);
        free(open);
        lines = more;
    }
    serve(lines);
    json_t *answer;
    size_t count = 0;
    for (; (answer = receive()); count++) json_decref(answer);
    cr_assert_eq(count, 20);
    free(lines);
}

Test(runner_server, a_tuner_that_is_gone_ends_it)
{
    rue_error error = {0};
    static char line[] = "{\"op\":\"hello\"}\n";
    FILE *in = fmemopen(line, sizeof line - 1, "r"), *out = fopen("/dev/full", "w");
    cr_assert_eq(rue_runner_serve(in, out, true, &error), RUE_INTERNAL);
    cr_assert_str_eq(error.message, "cannot write to the tuner");
    fclose(in);
    fclose(out);
}
