/* The rules by which a user ranks configurations. */
#ifndef RUE_RANKING_RULES_H
#define RUE_RANKING_RULES_H

#include "options.h"
#include "selection.h"

struct rue_model_weight {
    const char *model; /* in the rules' own text */
    double weight;
};

struct rue_ranking_rules {
    size_t top_n;
    enum rue_objective objective;
    double set_epsilon_ratio;   /* largest regret of any model in the smallest set */
    double confidence;          /* of intervals */
    const char *weights_origin; /* "--weights", for messages; borrowed; NULL: the weights of an earlier study,
                                   which may have ended before all of its models were tried */
    size_t weight_count;        /* 0: all models weigh 1 */
    struct rue_model_weight *weights;
    char *text; /* owned */
};

/* Options of the rules: `fallback` is the default (NULL: none), `note` ends the line of help. */
#define RUE_RANKING_TOP_N(fallback, note)                                                               \
    "top-n", RUE_OPTION_COUNT, "N", fallback, "each model votes for its N fastest" note, 1, 1000, NULL, \
        .group = RUE_GROUP_ANSWER
#define RUE_RANKING_OBJECTIVE(fallback, note)                                                   \
    "objective", RUE_OPTION_WORD, "WHAT", fallback, "minimise mean or worst regret" note, 0, 0, \
        rue_objective_names, .group = RUE_GROUP_ANSWER
#define RUE_RANKING_WEIGHTS(note)                                                                       \
    "weights", RUE_OPTION_LIST, "LIST", NULL, "weights of models, such as resnet18=3" note, 0, 0, NULL, \
        .group = RUE_GROUP_ANSWER
#define RUE_RANKING_SET_EPSILON(fallback, note)                                                          \
    "set-epsilon", RUE_OPTION_PERCENTAGE, "PERCENT", fallback,                                           \
        "largest regret of any model in the smallest set" note, 1, 10000, NULL,                          \
        .group = RUE_GROUP_ANSWER,                                                                       \
        .more = "The smallest set has the fewest configurations that keep each model this close to its " \
                "own best."

/* The indices of these options in the table of a command. */
struct rue_ranking_options {
    size_t top_n, objective, weights, set_epsilon;
};

/* Reads the rules. Values that no option sets come from `base`, whose names of models are borrowed; NULL:
 * confidence RUE_DEFAULT_CONFIDENCE, all else 0. Fails as rue_ranking_rules_read_weights does. */
rue_status rue_ranking_rules_read(const struct rue_options *options, const struct rue_ranking_options *at,
                                  const struct rue_ranking_rules *base, struct rue_ranking_rules *out,
                                  rue_error *error) RUE_MUST_CHECK;

/* Reads weights from `text`, "resnet18=3,vit_b_16=0.5" (NULL: none); borrows `origin`. Other models have the
 * weight 1. RUE_USAGE: a weight is not a positive number, or a model is named twice; RUE_MEMORY. Nothing has
 * to be closed after an error. */
rue_status rue_ranking_rules_read_weights(struct rue_ranking_rules *rules, const char *text,
                                          const char *origin, rue_error *error) RUE_MUST_CHECK;
void rue_ranking_rules_close(struct rue_ranking_rules *rules);

/* RUE_USAGE, with a similar name, if an option gives a weight for none of the models [count]. */
rue_status rue_ranking_rules_check(const struct rue_ranking_rules *rules, const char *const *models,
                                   size_t count, rue_error *error) RUE_MUST_CHECK;

/* The weight of a model. */
double rue_ranking_rules_weight(const struct rue_ranking_rules *rules, const char *model);

/* As rue_selection_open, with these rules. */
rue_status rue_ranking_rules_select(const struct rue_ranking_rules *rules,
                                    const struct rue_cost_matrix *matrix, struct rue_selection **out,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
