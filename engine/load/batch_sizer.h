/* The size of the next batch, by a strategy. It reads neither memory nor clock itself: tests script both. */
#ifndef RUE_BATCH_SIZER_H
#define RUE_BATCH_SIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loading.h"

struct rue_batch_facts {
    uint64_t now_ns;
    uint64_t free_bytes, total_bytes; /* memory; total 0: unknown */
};

struct rue_batch_sizer;

struct rue_batch_sizer_ops {
    bool reads_memory;
    /* (optional) May change the size before a batch begins. */
    void (*choose)(struct rue_batch_sizer *sizer, const struct rue_batch_facts *facts);
    /* (optional) A batch was delivered. */
    void (*observe)(struct rue_batch_sizer *sizer, size_t images, uint64_t now_ns);
};

/* RUE_BATCHES_MEMORY: below 10 % of free memory the size is halved, at most once in 100 ms. It is doubled
 * after each second in which at least 20 % were free. */
struct rue_batch_memory {
    uint64_t shrunk_ns; /* last step down; 0: none */
    uint64_t calm_ns;   /* since then 20 % are free, or since the last step up; 0: they are not */
};

/* RUE_BATCHES_ADAPTIVE: a hill climb over sizes that are halved or doubled. A stretch of at least 8 batches
 * and 200 ms gives the rate of a size. A neighbour replaces the best size if its rate is 5 % higher. When
 * neither neighbour is better, the best size is kept for 8 stretches, later for 16, 32 and 64. */
struct rue_batch_climb {
    size_t best_size;
    double best_rate;
    bool trying;  /* a neighbour of the best size */
    bool growing; /* which neighbour is next */
    int failed;   /* neighbours in a row that were not better */
    int rest, patience;
    uint64_t from; /* first batch of the stretch, which begins when it is delivered */
    uint64_t begin_ns, images, batches;
};

struct rue_batch_sizer {
    const struct rue_batch_sizer_ops *ops;
    size_t largest, least, size;
    uint64_t begun, delivered; /* batches */
    struct rue_batch_memory memory;
    struct rue_batch_climb climb;
};

/* The smallest size that a strategy chooses. */
size_t rue_batch_least(enum rue_batch_strategy strategy, size_t largest);

struct rue_batch_sizer rue_batch_sizer_make(enum rue_batch_strategy strategy, size_t largest);

/* The size of the next batch. */
size_t rue_batch_sizer_next(struct rue_batch_sizer *sizer, const struct rue_batch_facts *facts);

/* The batches that were not delivered never will be. What was learned is kept. */
void rue_batch_sizer_drop(struct rue_batch_sizer *sizer);

/* The next batch, of `images`, was delivered; in the order of the batches. */
void rue_batch_sizer_observe(struct rue_batch_sizer *sizer, size_t images, uint64_t now_ns);

#endif
