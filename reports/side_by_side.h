/* Variants of the same data side by side: what each does at its own best configuration and at one that all of
 * them share, what it takes on storage, and when making it from the first one pays. */
#ifndef RUE_SIDE_BY_SIDE_H
#define RUE_SIDE_BY_SIDE_H

#include "report.h"

/* The loader of a variant alone, against a consumer that takes no time. What is not known is NaN. */
struct rue_side_loading {
    double images_per_s;
    double first_batch_s;
    double cpu_s_per_image;
    double memory_bytes; /* anonymous, at the most */
};

struct rue_side {
    const struct rue_variant_findings *variant; /* borrowed */
    char name[PATH_MAX + 128];
    struct rue_side_loading own, common; /* at its best configuration; at the common one */
    double storage_bytes;                /* of its files; NaN */
    double common_regret_ratio;          /* mean over the models, of the common configuration; NaN */
    double build_s;                      /* to make all of it from the first variant; NaN; 0 of the first */
    bool cannot_be_made;                 /* from the first */
    const char *cache;                   /* "warm", "cold" or "as-is", as it was read; borrowed */
};

struct rue_side_by_side {
    const struct rue_findings *findings;
    struct rue_config common; /* where there is one */
    bool has_common;
    bool common_predicted;  /* it was not measured on every variant and model */
    uint64_t sample_images; /* that were converted to see what making takes */
    size_t side_count;
    struct rue_side *sides; /* [side_count]; the first is what the others are made from */
};

/* Seconds of an epoch of the first variant's images, with the side at its best configuration; NaN. */
double rue_side_epoch_s(const struct rue_side *first, const struct rue_side *side, size_t model);

/* After how many epochs making a variant pays. */
struct rue_payoff {
    double epochs;     /* INFINITY: it does not; NaN: not known */
    double confidence; /* of the interval; 0: there is none, as when everything was measured once */
    double low_epochs, high_epochs; /* of what an epoch saves, as far as noise goes; INFINITY: it may never
                                       pay */
};

/* Compared with `first`: after 0 epochs for the first itself and for what takes nothing to make. What saves
 * no more than a twentieth of an epoch does not pay, unless an interval says that it does save. */
struct rue_payoff rue_side_payoff(const struct rue_side *first, const struct rue_side *side, size_t model);

/* Tables and sentences. RUE_MEMORY; RUE_STORE when the stream fails. */
rue_status rue_side_by_side_show(const struct rue_side_by_side *all, const struct rue_report_style *style,
                                 FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* The same as JSON, "rue.compare/1". */
rue_status rue_side_by_side_json(const struct rue_side_by_side *all, FILE *stream,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
