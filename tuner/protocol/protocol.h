/* The runner's protocol, rue.runner/1 (docs/protocol.md): one JSON object per line in each direction. Tuner
 * and runner use the same functions. Unknown keys are ignored. See trial_reply.h for the rules between the
 * fields of a reply, and runner_identity.h for the answers that a restarted runner must repeat. */
#ifndef RUE_PROTOCOL_H
#define RUE_PROTOCOL_H

#include <jansson.h>

#include "error.h"
#include "space.h"
#include "trial.h"

#define RUE_PROTOCOL_NAME "rue.runner/1"

/* A trial with "wait":true: the runner prepares it and answers {"id":17,"status":"ready"}. It starts on the
 * first of these lines. On any other line, the trial fails. */
#define RUE_PROTOCOL_READY "ready"
#define RUE_PROTOCOL_START "{\"op\":\"start\"}"
#define RUE_PROTOCOL_SKIP  "{\"op\":\"skip\"}"

enum { RUE_PROTOCOL_LINE_MAX = 16 << 20, RUE_HELLO_LIST_MAX = 64 };

/* Whether a runner says, by {"op":"interrupted"}, that its user interrupted it. Then the study ends as by
 * Ctrl-C. */
bool rue_protocol_is_interrupt(const char *line, size_t bytes);

struct rue_hello {
    char runner[128]; /* "rue 0.1.0" */
    char loader[64];  /* "rue", "torch"; default: the runner's name without its version */
    bool measures[RUE_MEASURE_COUNT];
    bool virtual_clock;
    bool whole_jobs;         /* it answers only joint trials of whole jobs, as recorded times do */
    uint64_t answers;        /* different answers to one request: repeat r equals r - answers; 0: no limit */
    char machine_json[2048]; /* an object; "": not sent */
    size_t model_count;      /* models of the runner; 0: use those of the command line */
    char models[RUE_HELLO_LIST_MAX][RUE_MODEL_NAME_BYTES];
    size_t variant_count;
    struct rue_variant variants[RUE_HELLO_LIST_MAX];
    uint64_t images; /* of its own data; 0: not sent */
    bool has_space;
    struct rue_space
        space; /* rue's own knobs and declared ones (knob_json.h), at their defaults unless it sends values */
    bool varies[RUE_KNOBS_MAX]; /* the knobs that it can vary */
};

/* `images`: how many to read once if the workload is warm; 0: all. RUE_OPEN_BRIEFLY: without a look at the
 * other images. */
enum { RUE_OPEN_BRIEFLY = 1 };
struct rue_open_request {
    struct rue_variant variant;
    struct rue_workload workload;
    uint64_t images;
};

/* The answer to `open` with "status":"ok". The status "infeasible" means too little memory or too few
 * descriptors; any other means that the data are at fault. Both have a "reason". */
struct rue_opened {
    uint64_t images;
    uint64_t share_images;                   /* of the rank in each epoch, at most; 0: not sent */
    uint64_t bytes;                          /* 0: not sent */
    char digest[32];                         /* "": not sent */
    char cache[16];                          /* state of the trials: RUE_CACHE_WARM, ... */
    char cache_reason[RUE_REASON_BYTES / 2]; /* why it is not as requested, or "" */
    char dtype[16];                          /* of the data; "": not sent */
    enum rue_dtype batch_dtype;              /* of the batches of its trials */
    char transform[16];                      /* of its trials; "": eval */
    bool geometry;                           /* its trials follow that of the workload */
    uint32_t views;                          /* see rue_workload_views */
    bool has_subset;                         /* these are the images of the subset that was requested */
    char layout[48];                         /* as of struct rue_blocks */
    char made_with[RUE_MADE_WITH_BYTES]; /* of preprocessed items: see rue_made_with_items; "": not sent */
    uint64_t item_values, chunk_cache_bytes; /* see struct rue_workload */
    char note[RUE_ERROR_MESSAGE_BYTES];      /* a remark for users, or "" */
};

/* Fields of a reply to a trial (struct rue_trial_result), and its lists of times per batch. */
extern const struct rue_field rue_protocol_result_fields[];
extern const struct rue_field rue_protocol_times_fields[];

/* Encoders return a line without a newline, owned by the caller (free); NULL: out of memory. `profile`
 * (nullable) is rue_profile_json of the model: a runner that simulates models prefers it to its own
 * catalogue. */
char *rue_protocol_encode_hello(void);
char *rue_protocol_encode_open(const struct rue_variant *variant, const struct rue_workload *workload,
                               uint64_t images);
char *rue_protocol_encode_trial(const struct rue_trial_request *request, const char *profile);
char *rue_protocol_encode_result(json_t *id, const struct rue_trial_result *result);
char *rue_protocol_encode_ready(json_t *id);
char *rue_protocol_encode_opened(const struct rue_opened *opened);
/* `status`: RUE_INFEASIBLE and RUE_MEMORY are infeasible, others failed; RUE_DATA is a fault of the data. */
char *rue_protocol_encode_failure(json_t *id, rue_status status, const char *reason);
char *rue_protocol_encode_refusal(const char *reason); /* of `open`: its workload does not suit the data */

/* Decoders fail with RUE_RUNNER (replies) or RUE_USAGE (requests). The message names the field, what is
 * expected and what came, and continues "the runner". A reply to `open` may also be RUE_INFEASIBLE,
 * RUE_USAGE or RUE_DATA, with the runner's reason. */
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
