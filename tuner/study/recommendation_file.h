/* A recommendation.json, read back: what was recommended, what it rests on, and what a later study can start
 * from. */
#ifndef RUE_RECOMMENDATION_FILE_H
#define RUE_RECOMMENDATION_FILE_H

#include "error.h"
#include "goal.h"
#include "knowledge.h"
#include "objective.h"
#include "trial.h"

enum { RUE_RECOMMENDED_PROFILE_BYTES = 1024 };

struct rue_recommended_model {
    char name[RUE_MODEL_NAME_BYTES];
    double weight;
    char profile[RUE_RECOMMENDED_PROFILE_BYTES]; /* canonical JSON; "" when not told */
};

/* One variant's part. */
struct rue_recommended {
    struct rue_variant variant; /* path "": not told */
    bool mode_known;            /* false: a table's own word */
    bool sample;                /* converted for the comparison, and removed */
    char measured_with[64], data_digest[32];
    bool has_workload;
    struct rue_workload workload;
    uint64_t job_images;          /* 0: not told */
    uint64_t max_first_batch_ns;  /* 0: no limit */
    enum rue_goal goal;           /* of another than the time, no times are known */
    enum rue_objective objective; /* that and the models' weights: by what it was ranked */
    size_t model_count, config_count;
    struct rue_recommended_model *models; /* [model_count] */
    struct rue_config *configs;           /* [config_count] */
    double *time_s;                       /* [model_count][config_count] of the job; NaN where not known */
    bool *unfit;                          /* [config_count] failed or infeasible on some model */
    size_t best;                          /* of configs; RUE_NONE: nothing was recommended */
    double bound_ratio;                   /* of the certificate; NaN: nothing was claimed */
    size_t baseline;                      /* of configs: the fastest of those that it was measured beside, the
                                             recommended one aside; RUE_NONE: there is none */
    char baseline_name[48];               /* "PyTorch's default" */
    bool predicted;                       /* the file has a forecast of this loader */
    struct rue_knowledge *knowledge;      /* that; NULL without one, until rue_recommended_know */
};

struct rue_recommendation {
    const char *path; /* as it was given */
    char runner[128], rue_version[64], cpu[128];
    char *machine_json; /* the runner's own words, canonical; "" when it said none */
    int usable_cpus;    /* 0: not told */
    bool virtual_clock;
    size_t count;
    struct rue_recommended *at; /* [count] */
};

/* Reads `path`, a file or the folder of a study. `out` is closed by the caller; `path` is borrowed for its
 * life. RUE_DATA, with the place in the file, for what is no recommendation of this version; RUE_MEMORY. */
rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out,
                                   rue_error *error) RUE_MUST_CHECK;
void rue_recommendation_close(struct rue_recommendation *recommendation);

/* Of the CPUs, what a loader had there: at least 1. */
int rue_recommendation_cpus(const struct rue_recommendation *recommendation);

/* Where the part has no forecast, makes one of its times: as rue_prediction_learn_jobs, and RUE_DATA without
 * any. */
rue_status rue_recommended_know(struct rue_recommended *recommended, int cpus, bool in_turn,
                                rue_error *error) RUE_MUST_CHECK;

#endif
