/* The rules that a user ranks configurations by, and asks for answers by. */
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
    double set_epsilon_ratio;   /* how near its best every model is to be with the smallest set */
    double confidence;          /* of intervals */
    const char *weights_origin; /* what gave the weights, "--weights": for messages; borrowed; NULL: a study
                                   that may have been ended before all of its models were tried */
    size_t weight_count;        /* 0: all models weigh 1 */
    struct rue_model_weight *weights;
    char *text; /* owned */
};

/* The options of a command that rules are read from: their defaults (NULL: none), and what help says behind.
 */
#define RUE_RANKING_TOP_N(fallback, note)                                                                   \
    {                                                                                                       \
        "top-n", RUE_OPTION_COUNT, "N", fallback, "each model votes for its N fastest" note, 1, 1000, NULL, \
            .group = RUE_GROUP_ANSWER                                                                       \
    }
#define RUE_RANKING_OBJECTIVE(fallback, note)                                                       \
    {                                                                                               \
        "objective", RUE_OPTION_WORD, "WHAT", fallback, "minimise mean or worst regret" note, 0, 0, \
            rue_objective_names, .group = RUE_GROUP_ANSWER                                          \
    }
#define RUE_RANKING_WEIGHTS(note)                                                                           \
    {                                                                                                       \
        "weights", RUE_OPTION_LIST, "LIST", NULL, "weights of models, such as resnet18=3" note, 0, 0, NULL, \
            .group = RUE_GROUP_ANSWER                                                                       \
    }
#define RUE_RANKING_SET_EPSILON(fallback, note)                                                              \
    {                                                                                                        \
        "set-epsilon", RUE_OPTION_PERCENTAGE, "PERCENT", fallback,                                           \
            "largest regret of any model in the smallest set" note, 1, 10000, NULL,                          \
            .group = RUE_GROUP_ANSWER,                                                                       \
            .more = "The smallest set has the fewest configurations that keep each model this close to its " \
                    "own best."                                                                              \
    }

/* Where they stand among them. */
struct rue_ranking_options {
    size_t top_n, objective, weights, set_epsilon;
};

/* Reads the rules. What no option sets, which none has a default for, is as in `base`, whose models' names
 * are borrowed; NULL: confidence RUE_DEFAULT_CONFIDENCE, and nothing else. Errors as of
 * rue_ranking_rules_read_weights. */
rue_status rue_ranking_rules_read(const struct rue_options *options, const struct rue_ranking_options *at,
                                  const struct rue_ranking_rules *base, struct rue_ranking_rules *out,
                                  rue_error *error) RUE_MUST_CHECK;

/* Fills in weights from `text`, "resnet18=3,vit_b_16=0.5" (NULL: none); `origin` is borrowed. Models that are
 * not named weigh 1. RUE_USAGE for a weight that is no positive number and for a model named twice;
 * RUE_MEMORY. Nothing is to be closed where it fails. */
rue_status rue_ranking_rules_read_weights(struct rue_ranking_rules *rules, const char *text,
                                          const char *origin, rue_error *error) RUE_MUST_CHECK;
void rue_ranking_rules_close(struct rue_ranking_rules *rules);

/* RUE_USAGE when a weight that somebody gave now is for none of the models [count]: says which one was
 * perhaps meant. */
rue_status rue_ranking_rules_check(const struct rue_ranking_rules *rules, const char *const *models,
                                   size_t count, rue_error *error) RUE_MUST_CHECK;

/* What a model weighs. */
double rue_ranking_rules_weight(const struct rue_ranking_rules *rules, const char *model);

/* As rue_selection_open. */
rue_status rue_ranking_rules_select(const struct rue_ranking_rules *rules,
                                    const struct rue_cost_matrix *matrix, struct rue_selection **out,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
