#include "batch_sizer.h"

enum { SHRINK_MAX = 8, STRETCH_BATCHES = 8, PATIENCE = 8, PATIENCE_MAX = 64 };

static const double low_ratio = 0.1, high_ratio = 0.2; /* of memory that is free */
static const double better_ratio = 1.05;
static const uint64_t shrink_pause_ns = 100000000, calm_pause_ns = 1000000000, stretch_ns = 200000000;

/* ---- memory ---- */

static size_t smaller(const struct rue_batch_sizer *sizer)
{
    return sizer->size / 2 < sizer->least ? sizer->least : sizer->size / 2;
}

static size_t larger(const struct rue_batch_sizer *sizer)
{
    return sizer->size > sizer->largest / 2 ? sizer->largest : 2 * sizer->size;
}

static void choose_by_memory(struct rue_batch_sizer *sizer, const struct rue_batch_facts *facts)
{
    struct rue_batch_memory *memory = &sizer->memory;
    if (facts->total_bytes == 0) return;
    double free_ratio = (double)facts->free_bytes / (double)facts->total_bytes;
    if (free_ratio < high_ratio) memory->calm_ns = 0;
    if (free_ratio < low_ratio) {
        if (memory->shrunk_ns && facts->now_ns - memory->shrunk_ns < shrink_pause_ns) return;
        memory->shrunk_ns = facts->now_ns;
        sizer->size = smaller(sizer);
    } else if (free_ratio >= high_ratio && memory->calm_ns == 0) {
        memory->calm_ns = facts->now_ns;
    } else if (free_ratio >= high_ratio && facts->now_ns - memory->calm_ns >= calm_pause_ns) {
        memory->calm_ns = facts->now_ns;
        sizer->size = larger(sizer);
    }
}

/* ---- adaptive ---- */

static void begin_stretch(struct rue_batch_sizer *sizer, size_t size, uint64_t from)
{
    struct rue_batch_climb *climb = &sizer->climb;
    sizer->size = size;
    climb->from = from;
    climb->images = climb->batches = 0;
}

/* Tries the next neighbour, or the other one; rests if there is none. */
static void try_neighbour(struct rue_batch_sizer *sizer)
{
    struct rue_batch_climb *climb = &sizer->climb;
    size_t next = climb->growing ? larger(sizer) : smaller(sizer);
    if (next == sizer->size) {
        climb->growing = !climb->growing;
        climb->failed++;
        next = climb->growing ? larger(sizer) : smaller(sizer);
    }
    climb->trying = next != sizer->size;
    begin_stretch(sizer, next, climb->trying ? sizer->begun : sizer->delivered);
}

static void end_trial(struct rue_batch_sizer *sizer, double rate)
{
    struct rue_batch_climb *climb = &sizer->climb;
    climb->trying = false;
    if (rate > better_ratio * climb->best_rate) {
        climb->best_size = sizer->size;
        climb->best_rate = rate;
        climb->failed = 0;
        climb->patience = PATIENCE;
        try_neighbour(sizer);
        return;
    }
    climb->growing = !climb->growing;
    if (++climb->failed >= 2) {
        climb->failed = 0;
        climb->rest = climb->patience;
        climb->patience = 2 * climb->patience < PATIENCE_MAX ? 2 * climb->patience : PATIENCE_MAX;
    }
    begin_stretch(sizer, climb->best_size, sizer->begun);
}

static void end_stretch(struct rue_batch_sizer *sizer, double rate)
{
    struct rue_batch_climb *climb = &sizer->climb;
    if (climb->trying) {
        end_trial(sizer, rate);
        return;
    }
    climb->best_rate = rate;
    if (climb->rest > 0) {
        climb->rest--;
        begin_stretch(sizer, sizer->size, sizer->delivered);
    } else {
        try_neighbour(sizer);
    }
}

static void climb_hill(struct rue_batch_sizer *sizer, size_t images, uint64_t now_ns)
{
    struct rue_batch_climb *climb = &sizer->climb;
    uint64_t batch = sizer->delivered - 1;
    if (batch < climb->from) return;
    if (climb->batches++ == 0) {
        climb->begin_ns = now_ns;
        return;
    }
    climb->images += images;
    uint64_t elapsed_ns = now_ns - climb->begin_ns;
    if (climb->batches > STRETCH_BATCHES && elapsed_ns >= stretch_ns)
        end_stretch(sizer, (double)climb->images / (double)elapsed_ns);
}

/* ---- any ---- */

static const struct rue_batch_sizer_ops strategies[RUE_BATCHES_COUNT] = {
    [RUE_BATCHES_MEMORY] = {.reads_memory = true, .choose = choose_by_memory},
    [RUE_BATCHES_ADAPTIVE] = {.observe = climb_hill},
};

size_t rue_batch_least(enum rue_batch_strategy strategy, size_t largest)
{
    bool changes = strategies[strategy].choose || strategies[strategy].observe;
    return !changes ? largest : largest < SHRINK_MAX ? 1 : largest / SHRINK_MAX;
}

struct rue_batch_sizer rue_batch_sizer_make(enum rue_batch_strategy strategy, size_t largest)
{
    return (struct rue_batch_sizer){.ops = &strategies[strategy],
                                    .largest = largest,
                                    .least = rue_batch_least(strategy, largest),
                                    .size = largest,
                                    .climb = {.best_size = largest, .patience = PATIENCE}};
}

size_t rue_batch_sizer_next(struct rue_batch_sizer *sizer, const struct rue_batch_facts *facts)
{
    if (sizer->ops->choose) sizer->ops->choose(sizer, facts);
    sizer->begun++;
    return sizer->size;
}

void rue_batch_sizer_drop(struct rue_batch_sizer *sizer)
{
    sizer->delivered = sizer->begun;
    begin_stretch(sizer, sizer->size, sizer->begun); /* a pause is not a rate */
}

void rue_batch_sizer_observe(struct rue_batch_sizer *sizer, size_t images, uint64_t now_ns)
{
    sizer->delivered++;
    if (sizer->ops->observe) sizer->ops->observe(sizer, images, now_ns);
}
