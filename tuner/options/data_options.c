#include "data_options.h"

#include <stdio.h>
#include <string.h>

#include "recipe_json.h"

struct rue_workload rue_workload_from_options(const struct rue_options *options)
{
    struct rue_workload workload = rue_workload_default();
    for (size_t i = 0; rue_workload_options[i]; i++) {
        const struct rue_field *field = &rue_workload_fields[i];
        const char *option = rue_workload_options[i], *text = rue_options_text(options, option);
        if (!text) continue;
        if (field->kind == RUE_FIELD_TEXT)
            snprintf((char *)&workload + field->offset, field->bytes, "%s",
                     strlen(text) < field->bytes ? text : "too long");
        else if (field->kind == RUE_FIELD_FLAG)
            rue_field_set_number(field, &workload, rue_options_flag(options, option) != field->fallback);
        else if (field->kind == RUE_FIELD_WORD)
            rue_field_set_number(field, &workload, (uint64_t)rue_options_word(options, option));
        else
            rue_field_set_number(field, &workload, rue_options_number(options, option));
    }
    return workload;
}

static bool names_file(const char *word)
{
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 5 && strcmp(word + length - 5, ".json") == 0);
}

rue_status rue_workload_settle(const struct rue_options *options, struct rue_workload *workload,
                               rue_error *error)
{
    const char *word = rue_options_text(options, "augment");
    struct rue_views views;
    rue_error why = {0};
    rue_status status = rue_workload_check_geometry(workload, error);
    if (status != RUE_OK) return status;
    if (!rue_workload_trains(workload)) {
        if (!rue_options_given(options, "augment")) return RUE_OK;
        return rue_fail(error, RUE_USAGE, "--augment has no effect without --transform train: add it");
    }
    if (workload->decode != RUE_DECODE_EXACT)
        return rue_fail(error, RUE_USAGE,
                        "--decode fast cannot be used with --transform train: remove one of them");
    if (!word) word = rue_recipe_presets[0];
    status = names_file(word) ? rue_views_read_file(word, &views, &why) : rue_views_parse(word, &views, &why);
    if (status == RUE_OK) status = rue_views_format(&views, workload->augment, &why);
    return status == RUE_OK
               ? RUE_OK
               : rue_fail(error, status, "%s: %s", rue_options_origin(options, "augment"), why.message);
}

static rue_status read_key(const struct rue_options *options, const char *name, const char **out,
                           rue_error *error)
{
    const char *key = rue_options_text(options, name);
    *out = key;
    if (!key || (*key && strlen(key) < RUE_VARIANT_KEY_BYTES)) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s: '%.80s' is not a name of 1 to %d bytes",
                    rue_options_origin(options, name), key, RUE_VARIANT_KEY_BYTES - 1);
}

static rue_status read_subset(const struct rue_options *options, const char **out, rue_error *error)
{
    const char *text = rue_options_text(options, "subset");
    *out = text;
    if (!text || (*text && strlen(text) < RUE_VARIANT_SUBSET_BYTES)) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "%s: '%.40s%s' has %zu bytes instead of 1 to %d: put the items into a file%s",
                    rue_options_origin(options, "subset"), text, *text ? "..." : "", strlen(text),
                    RUE_VARIANT_SUBSET_BYTES - 1, ", one a line, and give @FILE");
}

rue_status rue_data_options_keys(const struct rue_options *options, struct rue_source_options *out,
                                 rue_error *error)
{
    rue_status status = read_key(options, "image-key", &out->image_key, error);
    if (status == RUE_OK) status = read_key(options, "label-key", &out->label_key, error);
    return status == RUE_OK ? read_subset(options, &out->subset, error) : status;
}

const char *rue_data_options_given_key(const struct rue_options *options)
{
    if (rue_options_given(options, "image-key")) return rue_options_origin(options, "image-key");
    return rue_options_given(options, "label-key") ? rue_options_origin(options, "label-key") : NULL;
}

rue_status rue_data_options_check_key(const char *given, const struct rue_source *source, rue_error *error)
{
    if (!given || rue_source_has_keys(source)) return RUE_OK;
    const struct rue_variant variant = rue_source_variant(source);
    return rue_fail(error, RUE_USAGE,
                    "%s: the format of %s is %s, which has no names for images and labels; remove the option",
                    given, variant.path, variant.format);
}
