#include "workload_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"

static void check_transform(struct rue_json_reader *reader, const struct rue_workload *workload)
{
    struct rue_views views;
    char canonical[RUE_VIEWS_TEXT_BYTES];
    bool train = rue_workload_trains(workload);
    if (!train && strcmp(workload->transform, RUE_TRANSFORM_EVAL) != 0)
        rue_json_refuse(reader, "transform", "eval or train");
    if (!train && workload->augment[0])
        rue_json_refuse(reader, "augment", "absent unless transform is train");
    if (train &&
        (rue_views_parse(workload->augment, &views, NULL) != RUE_OK ||
         rue_views_format(&views, canonical, NULL) != RUE_OK || strcmp(workload->augment, canonical) != 0))
        rue_json_refuse(reader, "augment", "a recipe, such as \"area 0.08 1 ratio 0.75 1.33333 flip 0.5\"");
    if (train && workload->decode != RUE_DECODE_EXACT)
        rue_json_refuse(reader, "decode", "exact if transform is train");
}

void rue_workload_check(struct rue_json_reader *reader, const struct rue_workload *workload)
{
    size_t length = rue_json_enter(reader, "workload");
    struct rue_workload copy = *workload;
    rue_error why = {0};
    if (rue_workload_check_geometry(&copy, &why) != RUE_OK) rue_json_fail(reader, why.message);
    check_transform(reader, workload);
    if (workload->rank >= workload->world_size) rue_json_refuse(reader, "rank", "below world_size");
    rue_json_exit(reader, length);
}

rue_status rue_workload_read(const json_t *object, struct rue_workload *out, rue_error *error)
{
    struct rue_json_reader reader = {.fault = RUE_USAGE, .error = error};
    *out = rue_workload_default();
    if (!object || json_is_null(object)) return RUE_OK;
    rue_json_read_fields(&reader, object, rue_workload_fields, out);
    rue_workload_check(&reader, out);
    return reader.status;
}

void rue_workload_canonical(const struct rue_workload *workload, char out[RUE_WORKLOAD_TEXT_BYTES])
{
    json_t *object = rue_json_struct(rue_workload_fields, workload, NULL);
    char *text = rue_json_dump(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    snprintf(out, RUE_WORKLOAD_TEXT_BYTES, "%s", text ? text : "");
    free(text);
    json_decref(object);
}
