#include "kept_baselines.h"

#include <math.h>

enum { PAIRS_MAX = 1 << 20 };

/* Numbers of a gain that are kept as they are: X(member). */
#define REALS(X)  \
    X(confidence) \
    X(ratio)      \
    X(low)        \
    X(high)

static json_t *gain_json(struct rue_json_document *document, const struct rue_gain *gain)
{
    json_t *object = json_object();
    rue_json_put(document, object, "pairs", rue_json_integer(gain->pairs));
    if (gain->pairs == 0) return object;
#define X(member) rue_json_put(document, object, #member, rue_json_real(gain->member));
    REALS(X)
#undef X
    return object;
}

json_t *rue_kept_baselines_json(struct rue_json_document *document,
                                const struct rue_baseline_findings *baselines)
{
    if (baselines->count == 0) return json_null();
    json_t *object = json_object(), *rows = json_array();
    for (size_t i = 0; i < baselines->count; i++) {
        json_t *row = json_object();
        rue_json_put(document, row, "config", rue_json_integer(baselines->rows[i].config));
        rue_json_put(document, row, "name", rue_json_text(baselines->rows[i].name));
        rue_json_put(document, row, "gain", gain_json(document, &baselines->rows[i].gain));
        rue_json_push(document, rows, row);
    }
    rue_json_put(document, object, "rows", rows);
    rue_json_put(document, object, "kept", json_boolean(baselines->kept));
    if (baselines->kept) {
        rue_json_put(document, object, "found", rue_json_integer(baselines->found));
        rue_json_put(document, object, "recommended", rue_json_integer(baselines->recommended));
        rue_json_put(document, object, "found_gain", gain_json(document, &baselines->found_gain));
    }
    rue_json_put(document, object, "unknown", rue_json_text(baselines->unknown));
    return object;
}

static size_t read_column(struct rue_json_reader *reader, const json_t *object, const char *key,
                          size_t config_count)
{
    size_t column = rue_json_count(reader, object, key, false, INT64_MAX);
    if (column < config_count) return column;
    rue_json_refuse(reader, key, "the number of a configuration");
    return 0;
}

static void read_gain(struct rue_json_reader *reader, const json_t *parent, const char *key,
                      struct rue_gain *out)
{
    const json_t *object = rue_json_object(reader, parent, key, false);
    size_t outer = rue_json_enter(reader, key);
    *out = (struct rue_gain){.pairs = rue_json_count(reader, object, "pairs", false, PAIRS_MAX)};
#define X(member) \
    if (out->pairs > 0) out->member = rue_json_number_of(reader, object, #member, false);
    REALS(X)
#undef X
    rue_json_leave(reader, outer);
}

static void read_baselines(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                           struct rue_baseline_findings *out)
{
    const json_t *rows;
    out->count = rue_json_list(reader, object, "rows", RUE_BASELINES_MAX, &rows);
    size_t outer = rue_json_enter(reader, "rows");
    for (size_t i = 0; reader->status == RUE_OK && i < out->count; i++) {
        const json_t *item = json_array_get(rows, i);
        struct rue_baseline_row *row = &out->rows[i];
        size_t length = rue_json_enter_at(reader, i);
        row->config = read_column(reader, item, "config", config_count);
        rue_json_copy_text(reader, item, "name", false, row->name, sizeof row->name);
        read_gain(reader, item, "gain", &row->gain);
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
    out->kept = rue_json_bool(reader, object, "kept");
    rue_json_copy_text(reader, object, "unknown", false, out->unknown, sizeof out->unknown);
    if (!out->kept) return;
    out->found = read_column(reader, object, "found", config_count);
    out->recommended = read_column(reader, object, "recommended", config_count);
    read_gain(reader, object, "found_gain", &out->found_gain);
}

void rue_kept_baselines_read(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                             struct rue_baseline_findings *out)
{
    const json_t *own = rue_json_object(reader, object, "baselines", true);
    size_t outer = rue_json_enter(reader, "baselines");
    if (own) read_baselines(reader, own, config_count, out);
    rue_json_leave(reader, outer);
}
