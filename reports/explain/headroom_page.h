/* How much faster the user's job would be with a perfect loader: steps on a batch that stays in memory
 * against steps on what the loader delivers. */
#ifndef RUE_HEADROOM_PAGE_H
#define RUE_HEADROOM_PAGE_H

#include <jansson.h>

#include "findings.h"
#include "section.h"

/* What limits loading where it costs time. */
enum rue_loading_limit {
    RUE_LIMIT_NOTHING, /* it costs too little to say */
    RUE_LIMIT_START,   /* the first batch comes late, and the epoch is short */
    RUE_LIMIT_CALLER,  /* without workers, the thread of the steps loads */
    RUE_LIMIT_CPUS,    /* all CPUs are busy */
    RUE_LIMIT_STEPS,   /* the steps themselves use the CPUs */
    RUE_LIMIT_OTHERS,  /* other programs use the CPUs */
    RUE_LIMIT_WORKERS, /* the workers compute all the time, and CPUs are idle */
    RUE_LIMIT_WAITS,   /* the workers wait: for storage, the network or each other */
    RUE_LIMIT_UNKNOWN, /* the runner reports no CPU times */
    RUE_LIMIT_COUNT
};

/* Of one model, over an epoch. */
struct rue_headroom_row {
    const char *model;            /* borrowed */
    size_t pairs;                 /* trials of either kind */
    double epoch_ns;              /* with the loader */
    double steps_ns;              /* with a perfect loader: the steps alone */
    bool predicted;               /* epoch_ns is extrapolated from a shorter trial */
    struct rue_speedup gain;      /* of a perfect loader; confidence 0: a single pair */
    double first_batch_ns;        /* NaN: unknown */
    double busy_cpus;             /* that loading uses; NaN: unknown */
    double idle_cpus, other_cpus; /* idle, and used by other programs; NaN: unknown */
    enum rue_loading_limit limit;
};

struct rue_headroom {
    struct rue_findings findings;        /* the runner, and what disturbed the machine, without lists */
    struct rue_variant_findings variant; /* the only one of the findings: its trials */
    struct rue_config config;
    uint64_t images; /* of an epoch */
    int cpus;        /* usable */
    size_t row_count;
    struct rue_headroom_row *rows; /* [row_count] */
    double max_loss_ratio;         /* the most that may be lost; NaN: no limit */
};

/* The share of the epoch that loading costs, of a gain; a gain below 1 is noise. */
double rue_headroom_loss(double speedup_ratio);

/* The model that loses most; NULL: none was measured. */
const struct rue_headroom_row *rue_headroom_worst(const struct rue_headroom *headroom);

/* Sentences and, for several models, a table. */
void rue_headroom_put(struct rue_page *page, const struct rue_headroom *headroom);

/* "rue.headroom/1" (docs/output.md). NULL: out of memory. */
json_t *rue_headroom_json(const struct rue_headroom *headroom);

#endif
