/* The first batch of a loader, and the pause between epochs, beside the time that one worker needs for a
 * batch. epochs DATA [REPEATS] */
#include "loader_bench.h"

enum { EPOCH_BATCHES = 6 };

static double step_ms; /* that the consumer needs for a batch: as long as a worker */

static struct rue_loader *open_loader(const struct loader_bench *bench)
{
    struct rue_loader *loader;
    rue_error error = {0};
    bench_check(rue_loader_open(bench->source, &bench->options, &loader, &error), &error);
    return loader;
}

static bool next_batch(struct rue_loader *loader)
{
    struct rue_batch *batch;
    rue_error error = {0};
    bench_check(rue_loader_next(loader, &batch, &error), &error);
    if (batch) rue_loader_release(loader, batch);
    return batch;
}

/* Milliseconds from opening until the first batch. */
static double first_batch(void *context)
{
    double start = bench_now();
    struct rue_loader *loader = open_loader(context);
    next_batch(loader);
    double elapsed = bench_now() - start;
    rue_loader_close(loader);
    return 1e3 * elapsed;
}

/* Milliseconds that the consumer waits for the first batch of the next epoch. */
static double pause_between_epochs(void *context)
{
    struct rue_loader *loader = open_loader(context);
    rue_error error = {0};
    while (next_batch(loader)) usleep((useconds_t)(1e3 * step_ms));
    double start = bench_now();
    bench_check(rue_loader_rewind(loader, 1, 0, &error), &error);
    next_batch(loader);
    double elapsed = bench_now() - start;
    rue_loader_close(loader);
    return 1e3 * elapsed;
}

/* Milliseconds that a worker needs for a batch, in an epoch after the first. */
static double batch_time(void *context)
{
    struct loader_bench bench = *(struct loader_bench *)context;
    uint64_t load_ns[EPOCH_BATCHES] = {0}, sum_ns = 0;
    rue_error error = {0};
    bench.options.batch_load_ns = load_ns;
    struct rue_loader *loader = open_loader(&bench);
    while (next_batch(loader)) continue;
    memset(load_ns, 0, sizeof load_ns);
    bench_check(rue_loader_rewind(loader, 1, 0, &error), &error);
    while (next_batch(loader)) continue;
    rue_loader_close(loader);
    for (int i = 0; i < EPOCH_BATCHES; i++) sum_ns += load_ns[i];
    return (double)sum_ns / 1e6 / EPOCH_BATCHES;
}

static void put_rows(const struct rue_source *source, int batch_size, int workers, int repeats)
{
    struct loader_bench batch = loader_bench_make(source, batch_size, workers, RUE_PARALLEL_BATCH,
                                                  (uint64_t)batch_size * EPOCH_BATCHES, true),
                        sample = batch, continuing = batch;
    sample.options.parallelism = RUE_PARALLEL_SAMPLE;
    continuing.options.continues = true;
    const struct bench_side sides[] = {{"batch", batch_time, &batch},
                                       {"first", first_batch, &batch},
                                       {"first, sample", first_batch, &sample},
                                       {"pause", pause_between_epochs, &batch},
                                       {"pause, continues", pause_between_epochs, &continuing}};
    static const char *const texts[] = {"first batch", "first batch, parallelism sample",
                                        "pause between epochs", "pause of a loader that continues"};
    static const char *const goals[] = {"<= 1.3", "<= 1.3", "", "<= 1"};
    double medians[5];
    step_ms = batch_time(&batch);
    bench_run(sides, 5, repeats, medians);
    for (int i = 0; i < 4; i++) {
        char what[96];
        snprintf(what, sizeof what, "%s, batch_size %d, num_workers %d", texts[i], batch_size, workers);
        bench_row(what, "ms", medians[i + 1], "one worker's time for a batch", medians[0], goals[i]);
    }
}

int main(int argc, char **argv)
{
    struct rue_source *source;
    rue_error error = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: epochs DATA [REPEATS]\n");
        return 2;
    }
    bench_check(rue_source_open(argv[1], NULL, &source, &error), &error);
    for (int batch_size = 32; batch_size <= 128; batch_size *= 4)
        for (int workers = 1; workers <= 2; workers++)
            put_rows(source, batch_size, workers, argc > 2 ? atoi(argv[2]) : 9);
    rue_source_close(source);
}
