/* Knobs and configurations. One table names the knobs (PyTorch's names); a configuration is a vector over it.
 * To add a knob: a row in `rue_knobs`, a name in the enum; options, JSON, store and reports follow. */
#ifndef RUE_CONFIG_H
#define RUE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rue_knob {
    RUE_BATCH_SIZE,
    RUE_NUM_WORKERS,
    RUE_PREFETCH_FACTOR,
    RUE_PARALLELISM,
    RUE_PIN_MEMORY, /* 0 or 1 */
    RUE_KNOB_COUNT
};

/* Values of RUE_PARALLELISM. */
enum rue_parallelism {
    RUE_PARALLEL_BATCH,  /* each worker loads a whole batch, as PyTorch does */
    RUE_PARALLEL_SAMPLE, /* the workers share each batch, item by item */
};

struct rue_knob_info {
    const char *name;
    const char *const *words; /* (optional) the values are words: value v is words[v] */
    int min, max;             /* inclusive */
    int fallback;             /* the value of an absent knob */
    bool always_shown;        /* written even where it has its fallback value */
    bool boolean;             /* the words are false and true, in JSON without quotes */
    const char *help;
};

extern const struct rue_knob_info rue_knobs[RUE_KNOB_COUNT];

/* In place of a value: nobody has told it. Of tables that were measured elsewhere alone. */
enum { RUE_KNOB_UNKNOWN = -1 };

struct rue_config {
    int value[RUE_KNOB_COUNT];
};

enum { RUE_CONFIG_TEXT_BYTES = 256 };

struct rue_config rue_config_default(void);

/* Of `images` those that are loaded: where the last batch is left out unless it is full, whole batches; all
 * of them where not one batch is full. */
uint64_t rue_config_images(const struct rue_config *config, bool drop_last, uint64_t images);
bool rue_config_equal(const struct rue_config *a, const struct rue_config *b);

/* The knob of that name, or -1. */
int rue_knob_find(const char *name);

/* Value `value`, a known one, of `knob` as people write it ("128", "sample", "true"). `out` needs 32 bytes at
 * most. */
void rue_knob_format(enum rue_knob knob, int value, char *out, size_t bytes);

/* Parses one value of `knob`; false when it is no word of the knob, no integer, or outside its bounds. A
 * boolean's words may be capitalised, as Python writes them. */
bool rue_knob_parse(enum rue_knob knob, const char *text, int *value);

/* Canonical JSON, keys in the table's order, knobs at their fallback left out unless `always_shown`, unknown
 * ones in any case: {"batch_size":128,"num_workers":8}. Adding a knob later does not change the text of older
 * configurations.
 */
void rue_config_canonical(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* For people: "batch_size 128, num_workers 8", of known knobs; those at their fallback, too, where nothing
 * else is left to say. */
void rue_config_describe(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* For tables: "128/8", with " prefetch_factor=4" and the like where not at the fallback. Where one of the two
 * is unknown, as rue_config_describe has it. */
void rue_config_label(const struct rue_config *config, char out[RUE_CONFIG_TEXT_BYTES]);

/* Hash of the canonical JSON. */
uint64_t rue_config_hash(const struct rue_config *config);

/* How many batches may be in flight between the workers and the consumer for a job of `batches`:
 * min(W * prefetch_factor, batches), at least 1. */
uint64_t rue_config_window(const struct rue_config *config, uint64_t batches);

#endif
