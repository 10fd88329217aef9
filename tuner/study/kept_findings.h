/* What a run found out, as its store keeps it: claims, estimates, corrected times and notices cannot be had
 * from the trials again, as they depend on when what was known, and on the strategy of that time. JSON of one
 * object, of the format "rue.findings/1"; numbers come back as they were. The findings of whoever looks at
 * the study later are made of it, with the run's rules or with others. */
#ifndef RUE_KEPT_FINDINGS_H
#define RUE_KEPT_FINDINGS_H

#include "findings.h"
#include "ranking_rules.h"

struct json_t;

enum { RUE_KEPT_NOTICES_MAX = 32, RUE_KEPT_KEY_BYTES = 17 };

struct rue_kept_findings {
    struct json_t *root; /* owned */
    uint64_t trials;     /* rows that the store had; of other rows nothing is known */
    char measured_with[64];
    bool under_way; /* kept before the end: of its variants the keys alone are known */
    bool partial;
    char partial_reason[160];
    struct rue_ranking_rules rules; /* of the run; closed with it */
    size_t notice_count;
    struct rue_notice notices[RUE_KEPT_NOTICES_MAX];
    size_t disturbed_count;
    uint64_t *disturbed; /* [disturbed_count] trials that count little; owned */
    size_t variant_count;
    char (*keys)[RUE_KEPT_KEY_BYTES]; /* [variant_count] which rows of the store they are about */
};

/* Which rows a variant's part is about, as a number: of rue_store_scenario_key. */
void rue_kept_key(const char *scenario, char out[RUE_KEPT_KEY_BYTES]);

/* What is kept beside findings, as above. */
struct rue_kept_beside {
    uint64_t trials;
    bool under_way;
    size_t disturbed_count;
    const uint64_t *disturbed;
    size_t variant_count; /* of the findings, unless they are of a run that is under way */
    const char (*keys)[RUE_KEPT_KEY_BYTES];
};

/* What is kept of `findings`, ranked by `rules`. `*out` is returned owned. RUE_MEMORY. */
rue_status rue_kept_findings_write(const struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                   const struct rue_kept_beside *beside, char **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* `store` is for messages. RUE_STORE where the text makes no sense, also where a newer rue wrote it;
 * RUE_MEMORY. */
rue_status rue_kept_findings_read(const char *text, const char *store, struct rue_kept_findings *out,
                                  rue_error *error) RUE_MUST_CHECK;
void rue_kept_findings_close(struct rue_kept_findings *kept);

/* The findings, to be closed by rue_tally_findings_close; they borrow from `kept`. Where `rules` judge
 * otherwise than the run's, nothing is claimed. As rue_kept_findings_read. */
rue_status rue_kept_findings_rank(const struct rue_kept_findings *kept, const char *store,
                                  const struct rue_ranking_rules *rules, struct rue_findings **out,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
