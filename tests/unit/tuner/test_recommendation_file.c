#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "findings_fixture.h"
#include "recommendation_file.h"
#include "report.h"
#include "selection.h"
#include "temporary_folder.h"

TestSuite(recommendation_file, .init = temporary_folder_make, .fini = temporary_folder_remove,
          .timeout = 120);

/* A document with everything that is read. */
static json_t *document(void)
{
    json_t *loader = json_array();
    static const char *const names[] = {
#define X(name, text) #name,
        RUE_PIPELINE_PARAMETERS(X)
#undef X
    };
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) {
        json_t *row = json_array();
        for (int q = 0; q < RUE_PIPELINE_PARAMETER_COUNT; q++) json_array_append_new(row, json_real(0));
        json_array_set_new(row, (size_t)p, json_real(0.04));
        json_array_append_new(loader, json_pack("{s:s, s:f, s:o}", "name", names[p], "value", 0.001 * (p + 1),
                                                "log_covariance", row));
    }
    json_error_t why;
    json_t *forecast =
        json_pack("{s:i, s:b, s:o, s:{s:f, s:f}, s:[{s:s, s:{s:i}, s:[{s:i, s:f}], s:f, s:n}, "
                  "{s:s, s:n, s:[], s:i, s:{s:f, s:f}}]}",
                  "cpus", 4, "in_turn", 0, "loader", loader, "hand_over", "batch_s", 0.001, "image_s", 0.0,
                  "models", "model", "ape", "profile", "per_image_ns", 5, "compute", "batch_size", 32,
                  "batch_s", 0.25, "cpu_ratio", 0.5, "consumer", "model", "bee", "profile", "compute",
                  "cpu_ratio", 0, "consumer", "batch_s", 0.5, "image_s", 0.25);
    json_t *configs = json_loads(
        "[{\"config\":{\"batch_size\":32,\"num_workers\":2,\"prefetch_factor\":2,\"parallelism\":\"batch\"},"
        "\"cells\":{\"ape\":{\"estimate_ns\":2000000000,\"trials\":1,\"first_estimate_ns\":3},"
        "\"bee\":{\"missed\":1,\"infeasible\":1,\"reason\":\"slow\"}}},"
        "{\"config\":{\"batch_size\":64,\"num_workers\":2,\"prefetch_factor\":2,\"parallelism\":\"sample\"},"
        "\"cells\":{\"ape\":{\"times_ns\":[1000000000],\"first_batches_ns\":[4]},\"bee\":{\"times_ns\":["
        "3000000000],\"first_batches_ns\":[5]}}}]",
        0, NULL);
    json_t *part = json_pack(
        "{s:{s:s, s:s, s:n, s:s}, s:O, s:i, s:s, s:b, s:s, s:{s:f, s:f}, s:{s:b, s:i}, s:o, s:[s, s], "
        "s:O, s:i, s:s, s:s, s:s, s:s}",
        "variant", "mode", "raw", "format", "folder", "dtype", "path", "/data", "config",
        json_object_get(json_array_get(configs, 1), "config"), "job_images", 500, "data_digest", "d1",
        "sample", 0, "measured_with", "rue", "certificate", "bound_ratio", 0.01, "confidence", 0.95,
        "workload", "shuffle", 1, "seed", 3, "forecast", forecast, "models", "ape", "bee", "configs", configs,
        "max_first_batch_ns", 5, "goal", "time", "objective", "mean", "decode", "exact", "batch_dtype",
        "float32");
    json_t *root = json_pack_ex(&why, 0, "{s:s, s:b, s:[], s:[o], s:{s:s, s:s, s:s, s:i, s:s, s:{s:i}}}",
                                "format", "rue.recommendation/1", "partial", 0, "notices", "recommendations",
                                part, "provenance", "runner", "rue 1", "rue_version", "1", "cpu", "a CPU",
                                "usable_cpus", 4, "clock", "virtual", "machine", "cpus", 4);
    json_decref(configs);
    cr_assert_not_null(root, "%s", why.text);
    return root;
}

static rue_status read_text(const char *text, size_t bytes, struct rue_recommendation **out, rue_error *error)
{
    temporary_file("recommendation.json", text, bytes);
    return rue_recommendation_read(temporary_folder, out, error);
}

static rue_status read_json(const json_t *root, struct rue_recommendation **out, rue_error *error)
{
    char *text = json_dumps(root, 0);
    rue_status status = read_text(text, strlen(text), out, error);
    free(text);
    return status;
}

Test(recommendation_file, everything_a_later_study_needs_is_read_back)
{
    struct rue_recommendation *found;
    rue_error error = {0};
    json_t *root = document();
    cr_assert_eq(read_json(root, &found, &error), RUE_OK, "%s", error.message);
    json_decref(root);
    cr_assert_eq(found->count, 1);
    cr_assert(found->found.runner.virtual_clock && found->found.machine.usable_cpus == 4);
    cr_assert_str_eq(found->found.runner.name, "rue 1");
    cr_assert_str_eq(found->found.machine.json, "{\"cpus\":4}");
    const struct rue_recommended *part = &found->at[0];
    cr_assert(rue_findings_mode_is_known(&part->found) && part->found.variant.mode == RUE_RAW &&
              !part->found.data.sample && part->found.job.workload_known);
    cr_assert_str_eq(part->found.variant.path, "/data");
    cr_assert(part->found.job.images == 500 && part->found.job.workload.seed == 3);
    cr_assert(part->matrix->model_count == 2 && part->matrix->config_count == 2 && part->best == 1);
    cr_assert_eq(part->matrix->configs[1].value[RUE_PARALLELISM], RUE_PARALLEL_SAMPLE);
    cr_assert(rue_recommended_s(part, 0, 0) == 2 && rue_recommended_s(part, 0, 1) == 1 &&
              isnan(rue_recommended_s(part, 1, 0)) && rue_recommended_s(part, 1, 1) == 3);
    cr_assert(rue_recommended_is_unfit(part, 0) && !rue_recommended_is_unfit(part, 1) &&
              part->max_first_batch_ns == 5);
    cr_assert_float_eq(part->found.claim.bound_ratio, 0.01, 1e-12);
    cr_assert_str_eq(part->profiles[0], "{\"per_image_ns\":5}");
    cr_assert_str_eq(part->profiles[1], "");
    const struct rue_knowledge *knowledge = part->knowledge;
    cr_assert_not_null(knowledge);
    cr_assert(knowledge->loader.cpus == 4 && !knowledge->loader.round_robin);
    cr_assert_float_eq(knowledge->loader.value[2], 0.003, 1e-12);
    cr_assert_float_eq(knowledge->covariance[5][5], 0.04, 1e-12);
    cr_assert_float_eq(knowledge->hand_over.batch_s, 0.001, 1e-12);
    cr_assert(knowledge->consumers[0].curve.count == 1 && isnan(knowledge->consumers[0].consumer.batch_s));
    cr_assert_float_eq(knowledge->consumers[2].consumer.image_s, 0.25, 1e-12);
    rue_recommendation_close(found);
}

/* Reads a document that may be wrong: no crash, and a fault is told with the file's name. */
static bool is_refused(const json_t *root, const char *what)
{
    struct rue_recommendation *found = NULL;
    rue_error error = {0};
    rue_status status = read_json(root, &found, &error);
    cr_assert(status == RUE_OK || (status == RUE_DATA && strstr(error.message, temporary_folder)),
              "%s: %d, %s", what, status, error.message);
    if (status == RUE_OK) rue_recommendation_close(found);
    return status != RUE_OK;
}

/* Every member and element below `node` in turn is missing, or something else. */
static size_t spoil(json_t *root, json_t *node, size_t *refused)
{
    static const char *const others[] = {
        "null", "true", "-1", "9223372036854775807", "1e300", "\"\"", "\"x\"", "[]", "{}", "[[]]"};
    size_t tried = 0, index, count = sizeof others / sizeof *others;
    const char *key;
    json_t *value, *members = json_array(); /* as a member that is deleted and set again comes last */
    json_object_foreach(node, key, value) json_array_append_new(members, json_string(key));
    for (size_t m = 0; m < json_array_size(members); m++) {
        const char *name = json_string_value(json_array_get(members, m));
        json_t *kept = json_incref(json_object_get(node, name));
        tried += spoil(root, kept, refused);
        for (size_t i = 0; i <= count; i++, tried++) {
            if (i < count)
                json_object_set_new(node, name, json_loads(others[i], JSON_DECODE_ANY, NULL));
            else
                json_object_del(node, name);
            *refused += is_refused(root, name);
        }
        json_object_set_new(node, name, kept);
    }
    json_decref(members);
    json_array_foreach(node, index, value)
    {
        json_t *kept = json_incref(value);
        tried += spoil(root, kept, refused);
        for (size_t i = 0; i < count; i++, tried++) {
            json_array_set_new(node, index, json_loads(others[i], JSON_DECODE_ANY, NULL));
            *refused += is_refused(root, "an element");
        }
        json_array_set_new(node, index, kept);
    }
    return tried;
}

Test(recommendation_file, missing_and_changed_fields_are_reported_or_harmless)
{
    json_t *root = document(), *part = json_array_get(json_object_get(root, "recommendations"), 0),
           *forecast = json_incref(json_object_get(part, "forecast"));
    size_t passed_over = 0;
    spoil(root, forecast, &passed_over);
    cr_assert_eq(passed_over, 0, "a forecast that is not understood is passed over");
    json_object_del(part, "forecast");
    size_t refused = 0, tried = spoil(root, root, &refused);
    cr_assert_gt(refused, tried / 2, "%zu of %zu refused", refused, tried);
    json_object_set_new(part, "forecast", forecast);
    cr_assert_not(is_refused(root, "all of it"));
    json_decref(root);
}

Test(recommendation_file, a_truncated_file_is_not_json)
{
    json_t *root = document();
    char *text = json_dumps(root, JSON_COMPACT);
    for (size_t bytes = 0; bytes < strlen(text); bytes++) {
        struct rue_recommendation *found;
        rue_error error = {0};
        cr_assert_eq(read_text(text, bytes, &found, &error), RUE_DATA, "%zu bytes", bytes);
        cr_assert(strstr(error.message, "is not JSON"), "%zu bytes: %s", bytes, error.message);
    }
    free(text);
    json_decref(root);
}

static void expect_refused(const char *text, const char *why)
{
    struct rue_recommendation *found;
    rue_error error = {0};
    cr_assert_eq(read_text(text, strlen(text), &found, &error), RUE_DATA);
    cr_assert(strstr(error.message, why), "%s", error.message);
}

Test(recommendation_file, a_wrong_field_is_named)
{
    expect_refused("{\"format\": \"rue.recommendation/1\", \"format\": 1}", "duplicate");
    expect_refused("{\"format\": \"rue.recommendation/2\"}", "format is not rue.recommendation/1");
    expect_refused("[1]", "not a recommendation");
    expect_refused("{\"format\": \"rue.recommendation/1\", \"recommendations\": [], \"provenance\": 3}",
                   "provenance is not an object");
    struct rue_recommendation *found;
    rue_error error = {0};
    json_t *root = document(), *part = json_array_get(json_object_get(root, "recommendations"), 0),
           *row = json_array_get(json_object_get(part, "configs"), 1);
    json_object_set_new(json_object_get(json_object_get(row, "cells"), "bee"), "missed", json_integer(-5));
    cr_assert_eq(read_json(root, &found, &error), RUE_DATA);
    cr_assert(strstr(error.message, "recommendations[0].configs[1].cells.bee.missed is not a whole number"),
              "%s", error.message);
    json_decref(root);
}

Test(recommendation_file, a_loader_with_other_parameters_is_ignored)
{
    struct rue_recommendation *found;
    json_t *root = document(), *part = json_array_get(json_object_get(root, "recommendations"), 0),
           *loader = json_object_get(json_object_get(part, "forecast"), "loader");
    json_object_set_new(json_array_get(loader, 3), "name", json_string("image_s"));
    cr_assert_eq(read_json(root, &found, NULL), RUE_OK);
    cr_assert_null(found->at[0].knowledge);
    cr_assert_eq(rue_recommended_make_knowledge(&found->at[0], 4, false, NULL), RUE_OK);
    cr_assert_gt(rue_knowledge_job_s(found->at[0].knowledge, 0, &found->at[0].matrix->configs[0], 500), 0);
    rue_recommendation_close(found);
    json_decref(root);
}

Test(recommendation_file, a_fifo_does_not_block)
{
    struct rue_recommendation *found;
    cr_assert_eq(mkfifo(temporary_path("fifo"), 0600), 0);
    cr_assert_eq(rue_recommendation_read(temporary_path("fifo"), &found, NULL), RUE_DATA);
    cr_assert_eq(rue_recommendation_read(temporary_folder, &found, NULL), RUE_DATA);
    cr_assert_eq(rue_recommendation_read("/nowhere/at/all", &found, NULL), RUE_DATA);
}

/* ---- what a store keeps ---- */
