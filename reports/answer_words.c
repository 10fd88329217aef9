#include "answer_words.h"

#include <math.h>

#include "answers.h"
#include "prose.h"
#include "units.h"

#define NB      RUE_NO_BREAK
#define PERCENT RUE_PROSE_PERCENT

enum { NAMED_MODELS = 3, NAMED_CONFIGS = 6, ALONE = 2 };

static const double alone_ratio = 0.02;      /* of a regret that is worth a word */
static const double less_memory_ratio = 0.5; /* at most, of what is recommended */
static const double more_regret_ratio = 0.1; /* that less memory may cost */

static void say_label(struct rue_prose *prose, const struct rue_variant_findings *variant, size_t config)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[config], label);
    rue_prose_say_unbroken(prose, label);
}

/* "128/12 for a, b and 3 more" */
static void say_served(struct rue_prose *prose, const struct rue_variant_findings *variant, size_t config,
                       bool unicode)
{
    const struct rue_config_set *set = variant->answers->set;
    size_t named = 0;
    say_label(prose, variant, config);
    rue_prose_say(prose, " for ");
    for (size_t m = 0; m < set->scenario_count; m++) {
        if (set->chosen[m] != config || named++ >= NAMED_MODELS) continue;
        rue_prose_say(prose, "%s", named > 1 ? ", " : "");
        rue_prose_say_model(prose, variant, m, unicode);
    }
    if (named > NAMED_MODELS) rue_prose_say(prose, " and %zu" NB "more", named - NAMED_MODELS);
}

static void say_set(struct rue_prose *prose, const struct rue_variant_findings *variant, bool unicode)
{
    const struct rue_config_set *set = variant->answers->set;
    if (variant->selection->model_count < 2 || set->config_count == 0) return;
    if (set->config_count == 1 && set->configs[0] == variant->selection->recommended)
        rue_prose_say(prose, "The recommended configuration is");
    else if (set->config_count == 1)
        rue_prose_say(prose, "One configuration is");
    else
        rue_prose_say(prose, "%zu configurations are", set->config_count);
    rue_prose_say(prose, " within %.3g" NB "%% of the best for every model", 100 * set->epsilon_ratio);
    if (set->config_count == 1 && set->configs[0] != variant->selection->recommended) {
        rue_prose_say(prose, ": ");
        say_label(prose, variant, set->configs[0]);
    }
    for (size_t k = 0; set->config_count > 1 && k < set->config_count && k < NAMED_CONFIGS; k++) {
        rue_prose_say(prose, k ? "; " : ": ");
        say_served(prose, variant, set->configs[k], unicode);
    }
    if (set->config_count > NAMED_CONFIGS)
        rue_prose_say(prose, "; and %zu" NB "more", set->config_count - NAMED_CONFIGS);
    rue_prose_say(prose, set->exact ? ". " : " (fewer may do). ");
}

static bool is_told(const size_t *told, size_t count, size_t model)
{
    for (size_t i = 0; i < count; i++)
        if (told[i] == model) return true;
    return false;
}

/* The model that loses most with what is recommended, of those not told; RUE_NONE when that is not worth a
 * word. */
static size_t next_alone(const struct rue_variant_findings *variant, const size_t *told, size_t count)
{
    const struct rue_selection *selection = variant->selection;
    size_t next = RUE_NONE;
    double most = alone_ratio;
    for (size_t m = 0; m < selection->model_count; m++) {
        double regret = rue_selection_regret(selection, variant->matrix, m, selection->recommended);
        if (regret < most || (next != RUE_NONE && regret == most) || is_told(told, count, m)) continue;
        next = m;
        most = regret;
    }
    return next;
}

/* Models that run much faster with a configuration of their own: the share of the time that it saves. */
static void say_alone(struct rue_prose *prose, const struct rue_variant_findings *variant, bool unicode)
{
    const struct rue_selection *selection = variant->selection;
    size_t told[ALONE], count = 0;
    if (selection->model_count < 2) return;
    for (size_t m; count < ALONE && (m = next_alone(variant, told, count)) != RUE_NONE; told[count++] = m) {
        double regret = rue_selection_regret(selection, variant->matrix, m, selection->recommended);
        rue_prose_say(prose, count ? "; " : "Alone: ");
        rue_prose_say_model(prose, variant, m, unicode);
        rue_prose_say(prose, " with ");
        say_label(prose, variant, selection->best_of_model[m]);
        rue_prose_say(prose, ", " PERCENT " less time", 100 * regret / (1 + regret));
    }
    if (count) rue_prose_say(prose, ". ");
}

static void say_left_out(struct rue_prose *prose, const struct rue_variant_findings *variant, bool unicode)
{
    const struct rue_leave_one_out *left = variant->answers->left;
    if (!left) return;
    rue_prose_say(prose,
                  "A model that was not measured: " PERCENT " regret on average, " PERCENT " at worst (",
                  100 * left->mean_regret_ratio, 100 * left->max_regret_ratio);
    rue_prose_say_model(prose, variant, left->worst_model, unicode);
    rue_prose_say(prose, "), leaving out each of these in turn. ");
}

/* Of what needs much less memory, that which costs least. */
static void say_memory(struct rue_prose *prose, const struct rue_variant_findings *variant)
{
    const struct rue_answers *answers = variant->answers;
    const struct rue_ranking_row *rows = variant->selection->rows;
    size_t best = variant->selection->recommended;
    char less[RUE_UNIT_TEXT_BYTES], more[RUE_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < answers->front_count; i++) {
        size_t config = answers->front[i];
        double cost = rows[config].mean_regret_ratio - rows[best].mean_regret_ratio;
        if (answers->memory_bytes[config] > less_memory_ratio * answers->memory_bytes[best]) continue;
        if (cost > more_regret_ratio) return;
        say_label(prose, variant, config);
        rue_prose_say(prose, " needs ");
        rue_prose_say_unbroken(prose,
                               rue_format_bytes((uint64_t)answers->memory_bytes[config], less, sizeof less));
        rue_prose_say(prose, " for batches in flight instead of ");
        rue_prose_say_unbroken(prose,
                               rue_format_bytes((uint64_t)answers->memory_bytes[best], more, sizeof more));
        rue_prose_say(prose, ", for " PERCENT " more regret. ", 100 * fmax(0, cost));
        return;
    }
}

void rue_answer_words(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    if (!variant->answers || variant->selection->recommended == RUE_NONE) return;
    say_set(&prose, variant, unicode);
    say_alone(&prose, variant, unicode);
    say_left_out(&prose, variant, unicode);
    say_memory(&prose, variant);
    if (prose.used > 0 && prose.used < bytes) out[prose.used - 1] = 0; /* the last blank */
}
