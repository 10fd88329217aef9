/* What must hold between the fields of a reply to a trial: one table of rules for every runner. Fields that
 * the runner did not send break none, except where a rule says that they are missing. */
#ifndef RUE_REPLY_RULES_H
#define RUE_REPLY_RULES_H

#include "trial.h"

struct rue_reply_rule {
    bool (*holds)(const struct rue_trial_request *request, const struct rue_trial_result *result);
    const char *otherwise; /* what is wrong where it does not hold */
};
extern const struct rue_reply_rule rue_reply_rules[];
extern const size_t rue_reply_rule_count;

/* The first rule that the reply breaks; NULL: it can be true. Integers and reals must be in the bounds of
 * rue_trial_field_holds or absent. */
const struct rue_reply_rule *rue_reply_rules_broken(const struct rue_trial_request *request,
                                                    const struct rue_trial_result *result);

#endif
