#include "ranking_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "word_list.h"

static const double weight_max = 1e6;

/* A name may contain '=': the weight follows the last one. */
static rue_status parse_weight(char *item, const char *origin, struct rue_model_weight *out, rue_error *error)
{
    char *equals = strrchr(item, '='), *end = NULL;
    if (!equals || equals == item)
        return rue_fail(error, RUE_USAGE, "%s: '%.100s' is not MODEL=WEIGHT, such as resnet18=3", origin,
                        item);
    const char *number = equals + 1;
    bool plain = *number && number[strspn(number, "0123456789.eE+-")] == 0;
    double weight = plain ? strtod(number, &end) : NAN;
    if (!plain || *end || !(weight >= 1 / weight_max && weight <= weight_max))
        return rue_fail(error, RUE_USAGE, "%s: '%.100s' is not a number from 0.000001 to 1000000", origin,
                        number);
    *equals = 0;
    *out = (struct rue_model_weight){item, weight};
    return RUE_OK;
}

static rue_status parse_weights(struct rue_ranking_rules *rules, const char *origin, rue_error *error)
{
    char *rest = rules->text;
    for (char *item; (item = rue_word_list_next(&rest));) {
        struct rue_model_weight *weight = &rules->weights[rules->weight_count];
        rue_status status = parse_weight(item, origin, weight, error);
        if (status != RUE_OK) return status;
        for (size_t i = 0; i < rules->weight_count; i++)
            if (strcmp(rules->weights[i].model, weight->model) == 0)
                return rue_fail(error, RUE_USAGE, "%s: %.100s is named twice; remove one", origin,
                                weight->model);
        rules->weight_count++;
    }
    return RUE_OK;
}

rue_status rue_ranking_rules_read_weights(struct rue_ranking_rules *rules, const char *text,
                                          const char *origin, rue_error *error)
{
    size_t items = 1;
    if (!text) return RUE_OK;
    for (const char *at = text; *at; at++) items += *at == ',';
    rules->weights_origin = origin;
    rules->text = strdup(text);
    rules->weights = calloc(items, sizeof *rules->weights);
    rue_status status = rules->text && rules->weights
                            ? parse_weights(rules, origin, error)
                            : rue_fail_memory(error, "weights", items * sizeof *rules->weights);
    if (status != RUE_OK) rue_ranking_rules_close(rules);
    return status;
}

static rue_status copy_weights(const struct rue_ranking_rules *from, struct rue_ranking_rules *out,
                               rue_error *error)
{
    if (from->weight_count == 0) return RUE_OK;
    out->weights = calloc(from->weight_count, sizeof *out->weights);
    if (!out->weights) return rue_fail_memory(error, "weights", from->weight_count * sizeof *out->weights);
    memcpy(out->weights, from->weights, from->weight_count * sizeof *out->weights);
    out->weight_count = from->weight_count;
    return RUE_OK;
}

rue_status rue_ranking_rules_read(const struct rue_options *options, const struct rue_ranking_rules *base,
                                  struct rue_ranking_rules *out, rue_error *error)
{
    static const struct rue_ranking_rules usual = {.confidence = RUE_DEFAULT_CONFIDENCE};
    if (!base) base = &usual;
    *out = *base;
    out->weights_origin = NULL;
    out->weight_count = 0;
    out->weights = NULL;
    out->text = NULL;
    if (rue_options_text(options, "top-n")) out->top_n = rue_options_number(options, "top-n");
    if (rue_options_text(options, "objective"))
        out->objective = (enum rue_objective)rue_options_word(options, "objective");
    if (rue_options_text(options, "set-epsilon"))
        out->set_epsilon_ratio = rue_options_ratio(options, "set-epsilon");
    const char *weights = rue_options_text(options, "weights");
    if (!weights) return copy_weights(base, out, error);
    return rue_ranking_rules_read_weights(out, weights, rue_options_origin(options, "weights"), error);
}
