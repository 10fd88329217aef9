/* Batch strategies beside batches of a fixed size: a model whose rate is highest at 16 images, and batch
 * buffers while memory is short. Loading takes no time. */
#include <math.h>

#include "clock.h"
#include "loader_bench.h"
#include "no_work_source.h"

enum { LARGEST = 64, BEST = 16, IMAGES = 60000 };

static const double image_s = 60e-6; /* of the model, in a batch of BEST */

static struct rue_source *source;

static struct rue_loader *open_loader(struct rue_loader_options *options)
{
    struct rue_loader *loader;
    rue_error error = {0};
    bench_check(rue_loader_open(source, options, &loader, &error), &error);
    return loader;
}

static struct rue_batch *next_batch(struct rue_loader *loader)
{
    struct rue_batch *batch;
    rue_error error = {0};
    bench_check(rue_loader_next(loader, &batch, &error), &error);
    return batch;
}

static struct rue_loader_options make_options(int batch_size, enum rue_batch_strategy strategy)
{
    struct rue_loader_options options =
        loader_bench_make(source, batch_size, 1, RUE_PARALLEL_BATCH, IMAGES, false).options;
    options.batch_strategy = strategy;
    return options;
}

/* Images a second with a model that takes its time for each batch. */
static double model_rate(int batch_size, enum rue_batch_strategy strategy)
{
    struct rue_loader_options options = make_options(batch_size, strategy);
    struct rue_loader *loader = open_loader(&options);
    double begin = bench_now();
    uint64_t free_ns = rue_clock_now_ns();
    for (struct rue_batch *batch; (batch = next_batch(loader));) {
        double doublings = log2((double)batch->count / BEST);
        free_ns += (uint64_t)((double)batch->count * image_s * (1 + 0.2 * doublings * doublings) * 1e9);
        rue_clock_wait_until(free_ns);
        rue_loader_release(loader, batch);
    }
    double rate = IMAGES / (bench_now() - begin);
    rue_loader_close(loader);
    return rate;
}

static double resident_mb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static uint64_t read_percent(void *context)
{
    return *(const uint64_t *)context;
}

/* The resident memory of the loader after 500 ms with this ratio of free memory. */
static double loader_mb(enum rue_batch_strategy strategy, uint64_t free_percent)
{
    struct rue_loader_options options = make_options(LARGEST, strategy);
    const struct rue_memory_probe memory = {read_percent, &free_percent, 100};
    options.memory = &memory;
    double before = resident_mb();
    struct rue_loader *loader = open_loader(&options);
    for (double end = bench_now() + 0.5; bench_now() < end; usleep(5000)) {
        struct rue_batch *batch = next_batch(loader);
        if (!batch) break;
        rue_loader_release(loader, batch);
    }
    double found = resident_mb() - before;
    rue_loader_close(loader);
    return found;
}

int main(void)
{
    source = no_work_source_open(IMAGES);
    double best = 0;
    for (int size = LARGEST; size >= LARGEST / 8; size /= 2) {
        char what[64];
        double rate = model_rate(size, RUE_BATCHES_FIXED);
        if (rate > best) best = rate;
        snprintf(what, sizeof what, "fixed batches of %d", size);
        bench_row(what, "images/s", rate, "the model at 16", 1 / image_s, "");
    }
    double adaptive = model_rate(LARGEST, RUE_BATCHES_ADAPTIVE);
    bench_row("adaptive batches, at most 64", "images/s", adaptive, "the best fixed size", best, ">= 0.9");
    double fixed = loader_mb(RUE_BATCHES_FIXED, 5);
    bench_row("batch buffers, memory strategy, 50 % free", "MB", loader_mb(RUE_BATCHES_MEMORY, 50), "fixed",
              fixed, "<= 1.05");
    bench_row("batch buffers, memory strategy, 5 % free", "MB", loader_mb(RUE_BATCHES_MEMORY, 5), "fixed",
              fixed, "<= 0.2");
    rue_source_close(source);
    return 0;
}
