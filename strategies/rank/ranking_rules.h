/* The rules by which a user ranks configurations. */
#ifndef RUE_RANKING_RULES_H
#define RUE_RANKING_RULES_H

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
