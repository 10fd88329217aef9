#include "device_table.h"

#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "json_file.h"
#include "profile_json.h"
#include "suggest.h"

static const char advice[] = "give a table that rue calibrate wrote";

bool rue_device_is_table(const char *device)
{
    static const char end[] = ".json";
    size_t length = strlen(device);
    return length >= sizeof end && strcmp(device + length - (sizeof end - 1), end) == 0;
}

/* Reads a name that the command line accepts, and resolves aliases. */
static void read_name(struct rue_json_reader *reader, const json_t *object, char out[RUE_MODEL_NAME_BYTES])
{
    static const struct rue_field name = {"model", RUE_FIELD_TEXT, .bytes = RUE_MODEL_NAME_BYTES};
    struct rue_profile known;
    rue_json_read_field(reader, object, &name, out);
    if (reader->status != RUE_OK) return;
    if (!*out || strpbrk(out, "@,"))
        rue_json_refuse(reader, "model", "a model name without a device, such as resnet50");
    else if (rue_catalogue_find(out, &known, NULL) == RUE_OK)
        memcpy(out, known.name, RUE_MODEL_NAME_BYTES);
}

static void read_model(struct rue_json_reader *reader, const json_t *object, const char *title,
                       struct rue_profile *out)
{
    *out = (struct rue_profile){.measured = true};
    read_name(reader, object, out->name);
    snprintf(out->device, sizeof out->device, "%s", title);
    rue_profile_read(reader, object, out);
}

struct head {
    char format[32], title[sizeof((struct rue_profile *)0)->device];
};

static const struct rue_field head_fields[] = {{"format", RUE_FIELD_TEXT, RUE_FIELD_AT(head, format)},
                                               {"title", RUE_FIELD_TEXT, RUE_FIELD_AT(head, title)},
                                               {0}};

static void read_root(struct rue_json_reader *reader, const json_t *root, struct rue_device_table *out)
{
    struct head head = {0};
    const json_t *models;
    rue_json_read_fields(reader, root, head_fields, &head);
    if (strcmp(head.format, RUE_DEVICE_TABLE_FORMAT) != 0)
        rue_json_refuse(reader, "format", RUE_DEVICE_TABLE_FORMAT);
    if (!head.title[0]) rue_json_refuse(reader, "title", "a text that names the device");
    size_t count = rue_json_list(reader, root, "models", RUE_DEVICE_TABLE_MODELS_MAX, &models);
    size_t length = rue_json_enter(reader, "models");
    for (size_t i = 0; i < count && reader->status == RUE_OK; i++) {
        size_t inner = rue_json_enter_at(reader, i);
        read_model(reader, json_array_get(models, i), head.title, &out->profiles[i]);
        if (rue_device_table_find(out, out->profiles[i].name)) rue_json_refuse(reader, "model", "unique");
        rue_json_exit(reader, inner);
        out->count++;
    }
    rue_json_exit(reader, length);
}

rue_status rue_device_table_read(const char *path, struct rue_device_table *out, rue_error *error)
{
    json_t *root;
    out->count = 0;
    rue_status status = rue_json_file_read(path, advice, &root, error);
    if (status != RUE_OK) return status;
    struct rue_json_reader reader = {.path = path, .advice = advice, .error = error};
    read_root(&reader, root, out);
    json_decref(root);
    return reader.status;
}

const struct rue_profile *rue_device_table_find(const struct rue_device_table *table, const char *model)
{
    struct rue_profile known;
    const char *name = rue_catalogue_find(model, &known, NULL) == RUE_OK ? known.name : model;
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->profiles[i].name, name) == 0) return &table->profiles[i];
    return NULL;
}

static rue_status fail_unknown(const struct rue_device_table *table, const char *path, const char *model,
                               rue_error *error)
{
    const char *names[RUE_DEVICE_TABLE_MODELS_MAX];
    char near[RUE_SUGGESTION_BYTES], list[512] = "";
    for (size_t i = 0, used = 0; i < table->count; i++) {
        names[i] = table->profiles[i].name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (*rue_did_you_mean(model, names, table->count, "", near))
        return rue_fail(error, RUE_USAGE, "%s has no model '%s'%s", path, model, near);
    return rue_fail(error, RUE_USAGE, "%s has no model '%s'; its models: %s", path, model,
                    table->count ? list : "none");
}

static rue_status fail_long(const char *spec, rue_error *error)
{
    return rue_fail(error, RUE_USAGE,
                    "the model name '...%.60s' is too long: use a shorter path to the table",
                    strlen(spec) > 60 ? spec + strlen(spec) - 60 : spec);
}

static rue_status find_in_table(const char *model, const char *path, struct rue_profile *out,
                                rue_error *error)
{
    struct rue_device_table *table = malloc(sizeof *table);
    if (!table) return rue_fail_memory(error, "a device table", sizeof *table);
    rue_status status = rue_device_table_read(path, table, error);
    const struct rue_profile *found = status == RUE_OK ? rue_device_table_find(table, model) : NULL;
    if (status == RUE_OK && !found) status = fail_unknown(table, path, model, error);
    if (found) *out = *found;
    if (found && snprintf(out->name, sizeof out->name, "%s@%s", found->name, path) >= (int)sizeof out->name)
        status = fail_long(path, error);
    free(table);
    return status;
}

rue_status rue_device_table_model(const char *spec, struct rue_profile *out, rue_error *error)
{
    char plain[RUE_MODEL_NAME_BYTES];
    const char *device = strchr(spec, '@');
    if (!device || !rue_device_is_table(device + 1)) return rue_catalogue_find(spec, out, error);
    if (strlen(spec) >= sizeof plain) return fail_long(spec, error);
    snprintf(plain, sizeof plain, "%.*s", (int)(device - spec), spec);
    *out = (struct rue_profile){0};
    return find_in_table(plain, device + 1, out, error);
}
