/* The runner's protocol, rue.runner/1: one JSON object a line in each direction. Both ends use these
 * functions, so what one writes the other reads. Unknown keys are ignored. What must hold between the fields
 * of a reply to a trial is in trial_reply.h, and what a runner that is started again must repeat in
 * runner_identity.h. */
#ifndef RUE_PROTOCOL_H
#define RUE_PROTOCOL_H

#include <jansson.h>

#include "error.h"
#include "space.h"
#include "trial.h"

#define RUE_PROTOCOL_NAME "rue.runner/1"

/* A runner that is asked for a trial with "wait":true answers {"id":17,"status":"ready"} when all is ready,
 * and begins when it reads the first of these lines; after any other it answers that the trial failed. */
#define RUE_PROTOCOL_READY "ready"
#define RUE_PROTOCOL_START "{\"op\":\"start\"}"
#define RUE_PROTOCOL_SKIP  "{\"op\":\"skip\"}"

enum { RUE_PROTOCOL_LINE_MAX = 16 << 20, RUE_HELLO_LIST_MAX = 64 };

/* What a runner says of itself. */
struct rue_hello {
    char runner[128]; /* "rue 0.1.0" */
    char loader[64];  /* whose loader it is: "rue", "torch"; the runner's name without version where it does
                         not say */
    bool measures[RUE_MEASURE_COUNT];
    bool virtual_clock;
    bool whole_jobs;  /* it answers joint trials of whole jobs alone, as recorded times do */
    uint64_t answers; /* different ones to the same question: repeat r is as r - answers; 0: not said */
    char machine_json[2048]; /* an object, or "" */
    size_t model_count;      /* models that it brings along; 0: those of the command line */
    char models[RUE_HELLO_LIST_MAX][RUE_MODEL_NAME_BYTES];
    size_t variant_count;
    struct rue_variant variants[RUE_HELLO_LIST_MAX];
    uint64_t images; /* of its data; 0: not said */
    bool has_space;
    struct rue_space space;     /* of rue's own knobs and those that it declares (knob_json.h), at their
                                   defaults where it names no values */
    bool varies[RUE_KNOBS_MAX]; /* those that may be varied */
};

/* What `open` asks for: of the workload's `images`, 0: all, to be read once where it is warm. */
struct rue_open_request {
    struct rue_variant variant;
    struct rue_workload workload;
    uint64_t images;
};

/* What `open` answers when its "status" is "ok": also, where the workload asks for batches of uint8, that
 * they will be. "infeasible", with a "reason": there is too little memory, or too few descriptors, to open
 * the data; any other word: the data are at fault. */
struct rue_opened {
    uint64_t images;
    uint64_t bytes;                          /* 0: not said */
    char digest[32];                         /* "" : not said */
    char cache[16];                          /* what the trials will really be: RUE_CACHE_WARM, ... */
    char cache_reason[RUE_REASON_BYTES / 2]; /* why they will not be what was asked for, or "" */
    char dtype[16];                          /* of the data; "" : not said */
    enum rue_dtype batch_dtype;              /* of the batches that its trials will deliver */
    char note[RUE_ERROR_MESSAGE_BYTES];      /* what people should know of the data, or "" */
};

/* What a reply to a trial says (struct rue_trial_result), and the times of each batch in it: when they were
 * ready, how long they took to load and to compute. */
extern const struct rue_field rue_protocol_result_fields[];
extern const struct rue_field rue_protocol_times_fields[];

/* Encoders return a line owned by the caller (free), without the newline; NULL only when memory is out.
 * `profile` is JSON of what the model costs (rue_profile_json), or NULL: a runner that simulates models takes
 * that rather than what it knows of the name. */
char *rue_protocol_encode_hello(void);
char *rue_protocol_encode_open(const struct rue_variant *variant, const struct rue_workload *workload,
                               uint64_t images);
char *rue_protocol_encode_trial(const struct rue_trial_request *request, const char *profile);
char *rue_protocol_encode_result(json_t *id, const struct rue_trial_result *result);
char *rue_protocol_encode_ready(json_t *id);
char *rue_protocol_encode_opened(const struct rue_opened *opened);
/* What could not be done: infeasible when there is no memory or descriptor for it now, else failed. */
char *rue_protocol_encode_failure(json_t *id, enum rue_outcome outcome, const char *reason);

/* Decoders: RUE_RUNNER (a reply) or RUE_USAGE (a request) with what is wrong, and the offending text cut
 * short. Of an open reply also RUE_INFEASIBLE and RUE_DATA, with the runner's reason. */
rue_status rue_protocol_parse(const char *line, json_t **out, rue_error *error) RUE_MUST_CHECK;
rue_status rue_protocol_decode_hello(const json_t *reply, struct rue_hello *out,
                                     rue_error *error) RUE_MUST_CHECK;
rue_status rue_protocol_decode_opened(const json_t *reply, struct rue_opened *out,
                                      rue_error *error) RUE_MUST_CHECK;
rue_status rue_protocol_decode_open(const json_t *object, struct rue_open_request *out,
                                    rue_error *error) RUE_MUST_CHECK;
rue_status rue_protocol_decode_trial(const json_t *object, struct rue_trial_request *out,
                                     rue_error *error) RUE_MUST_CHECK;

bool rue_protocol_is_start(const char *line);

#endif
