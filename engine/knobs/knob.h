/* Knobs: the settings of a loader. A knob is data: name, kind, values, default. One table has the knobs of
 * rue's own loader. A runner may declare more knobs, which follow in the list. */
#ifndef RUE_KNOB_H
#define RUE_KNOB_H

#include <stdbool.h>
#include <stddef.h>

/* X(identifier, name, kind, words, least, most, default, always shown, needs workers, PyTorch's argument,
 * help). To add a knob of rue's own loader: add a row here, and read it in the loader. */
#define RUE_OWN_KNOBS(X)                                                                                  \
    X(BATCH_SIZE, "batch_size", COUNT, NULL, 1, 65536, 1, true, false, "batch_size", "images in a batch") \
    X(NUM_WORKERS, "num_workers", COUNT, NULL, 0, 256, 0, true, false, "num_workers",                     \
      "loader workers; 0 loads in the consumer's thread")                                                 \
    X(PREFETCH_FACTOR, "prefetch_factor", COUNT, NULL, 1, 64, 2, false, true, "prefetch_factor",          \
      "batches in flight per worker")                                                                     \
    X(PARALLELISM, "parallelism", CATEGORY, rue_parallelism_names, 0, 1, 0, false, true, NULL,            \
      "batch: a worker loads whole batches; sample: workers share each batch")                            \
    X(PIN_MEMORY, "pin_memory", FLAG, boolean_names, 0, 1, 1, false, false, "pin_memory",                 \
      "batches in page-locked memory, so that copies to a GPU run in the background")                     \
    X(MAX_QUEUE_SIZE, "max_queue_size", COUNT, NULL, 0, 16384, 0, false, true, NULL,                      \
      "cap on batches in flight, beside prefetch_factor; 0: no cap")                                      \
    X(READ, "read", CATEGORY, rue_read_names, 0, RUE_READ_COUNT - 1, 0, false, false, NULL,               \
      "batch: a worker reads its batch in the order of storage, then decodes; item: one by one")          \
    X(BATCH_STRATEGY, "batch_strategy", CATEGORY, rue_batch_strategy_names, 0, RUE_BATCHES_COUNT - 1, 0,  \
      false, false, NULL, "fixed batches, or round-robin, memory or adaptive")

/* Their index in every list. */
enum rue_knob {
#define X(id, ...) RUE_##id,
    RUE_OWN_KNOBS(X)
#undef X
        RUE_OWN_KNOB_COUNT
};

enum rue_knob_kind {
    RUE_KIND_COUNT,    /* whole numbers; the distance of two values is the logarithm of their ratio */
    RUE_KIND_NUMBER,   /* one of a list of numbers; the distance of two values is their difference */
    RUE_KIND_CATEGORY, /* one of a list of words; two values are equal or not */
    RUE_KIND_FLAG,     /* false or true */
    RUE_KNOB_KINDS
};
extern const char *const rue_knob_kind_names[RUE_KNOB_KINDS + 1]; /* "count", ..., NULL */

enum { RUE_KNOBS_MAX = 16, RUE_KNOB_TEXT_BYTES = 48, RUE_KNOB_WORDS_MAX = 32, RUE_CONFIG_TEXT_BYTES = 512 };

/* The value of a count is the number itself; other values are an index of `words`. */
struct rue_knob_info {
    const char *name; /* as in JSON and PyTorch, shorter than RUE_KNOB_TEXT_BYTES */
    enum rue_knob_kind kind;
    const char *const *words; /* NULL for a count; else value v is written as words[v], NULL at the end */
    const double *numbers;    /* for a number: [max + 1], ascending; else NULL */
    int min, max;             /* inclusive */
    int fallback;             /* default value */
    bool always_shown;        /* written even at its default */
    bool needs_workers;       /* has no effect without workers */
    const char *torch;        /* the argument of PyTorch's DataLoader, or NULL */
    const char *help;
};

struct rue_knobs {
    size_t count;
    const struct rue_knob_info *at[RUE_KNOBS_MAX]; /* [count]; rue's own are the first */
    unsigned lacks; /* bit k: the loader does not have rue's own knob k, which keeps its default */
};

extern const struct rue_knobs rue_own_knobs;

static inline bool rue_knobs_have(const struct rue_knobs *knobs, size_t k)
{
    return !(knobs->lacks >> k & 1);
}

/* Whether they are those of rue's own loader, and no others. */
static inline bool rue_knobs_are_own(const struct rue_knobs *knobs)
{
    return knobs->count == RUE_OWN_KNOB_COUNT && !knobs->lacks;
}

/* The index of the knob with that name, or -1. */
int rue_knob_find(const struct rue_knobs *knobs, const char *name);

/* Formats a valid value as text ("128", "sample", "true") into `out` of RUE_KNOB_TEXT_BYTES. */
void rue_knob_format(const struct rue_knob_info *knob, int value, char out[RUE_KNOB_TEXT_BYTES]);

/* Parses one value. False: the knob cannot have it. Words of a flag may be capitalised, as in Python. */
bool rue_knob_parse(const struct rue_knob_info *knob, const char *text, int *value);

/* Writes the valid values: "a whole number from 0 to 256", "batch or sample". */
void rue_knob_describe(const struct rue_knob_info *knob, char *out, size_t bytes);

/* The coordinate of a value for smooth models. A distance of 1 is a factor of two of a count, or the whole
 * range of a number. 0 for categories and flags. */
double rue_knob_position(const struct rue_knob_info *knob, int value);

#endif
