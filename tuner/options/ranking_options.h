/* Options for the rules by which a user ranks configurations. */
#ifndef RUE_RANKING_OPTIONS_H
#define RUE_RANKING_OPTIONS_H

#include "options.h"
#include "ranking_rules.h"

/* Options of the rules: `fallback` is the default (NULL: none), `note` ends the line of help. */
#define RUE_RANKING_TOP_N(fallback, note)                                                               \
    "top-n", RUE_OPTION_COUNT, "N", fallback, "each model votes for its N fastest" note, 1, 1000, NULL, \
        .group = RUE_GROUP_ANSWER
#define RUE_RANKING_OBJECTIVE(fallback, note)                                                   \
    "objective", RUE_OPTION_WORD, "WHAT", fallback, "minimise mean or worst regret" note, 0, 0, \
        rue_objective_names, .group = RUE_GROUP_ANSWER
#define RUE_RANKING_WEIGHTS(note)                                                           \
    "weights", RUE_OPTION_LIST, "LIST", NULL, "weights of models, such as resnet18=3" note, \
        .group = RUE_GROUP_ANSWER, .usual = "1 each"
#define RUE_RANKING_SET_EPSILON(fallback, note)                                                          \
    "set-epsilon", RUE_OPTION_PERCENTAGE, "PERCENT", fallback,                                           \
        "largest regret of any model in the smallest set" note, 1, 10000, NULL,                          \
        .group = RUE_GROUP_ANSWER,                                                                       \
        .more = "The smallest set has the fewest configurations that keep each model this close to its " \
                "own best."

/* Reads the rules. Values that no option sets come from `base`, whose names of models are borrowed; NULL:
 * confidence RUE_DEFAULT_CONFIDENCE, all else 0. Fails as rue_ranking_rules_read_weights does. */
rue_status rue_ranking_rules_read(const struct rue_options *options, const struct rue_ranking_rules *base,
                                  struct rue_ranking_rules *out, rue_error *error) RUE_MUST_CHECK;

/* Reads weights from `text`, "resnet18=3,vit_b_16=0.5" (NULL: none); borrows `origin`. Other models have the
 * weight 1. RUE_USAGE: a weight is not a positive number, or a model is named twice; RUE_MEMORY. Nothing has
 * to be closed after an error. */
rue_status rue_ranking_rules_read_weights(struct rue_ranking_rules *rules, const char *text,
                                          const char *origin, rue_error *error) RUE_MUST_CHECK;

#endif
