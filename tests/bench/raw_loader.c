/* Images a second of the loader on raw data, beside as many threads that decode without a loader, and beside
 * what one such thread does times the CPUs.   raw_loader FOLDER [REPEATS] */
#include "fetcher.h"
#include "loader_bench.h"

static void *open_fetcher(void *context)
{
    const struct rue_fetcher_options options = {.dtype = RUE_FLOAT32, .max_pixels = UINT64_C(1) << 28};
    struct rue_fetcher *fetcher;
    rue_error error = {0};
    bench_check(rue_fetcher_open(context, &options, &fetcher, &error), &error);
    return fetcher;
}

static void fetch(void *state, uint64_t item, float *tensor)
{
    rue_error error = {0};
    uint64_t loaded;
    bench_check(rue_fetcher_fetch(state, item, (void *[]){tensor}, &loaded, NULL, &error), &error);
}

static void close_fetcher(void *state)
{
    rue_fetcher_close(state);
}

static double first_batch(void *context)
{
    loader_bench_run(context);
    return 1 / ((struct loader_bench *)context)->first_batch_s;
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: raw_loader FOLDER [REPEATS]\n", stderr), 2;
    rue_error error = {0};
    struct rue_source *source;
    bench_check(rue_source_open(argv[1], NULL, &source, &error), &error);
    uint64_t images = rue_source_count(source);
    int cpus = bench_cpus(), repeats = argc > 2 ? atoi(argv[2]) : 7;
    struct thread_bench all = {cpus, images, 1, 128, open_fetcher, fetch, close_fetcher, source}, one = all;
    one.threads = 1;
    one.items = images / (uint64_t)cpus;
    one.step = (uint64_t)cpus;
    struct loader_bench sample = loader_bench_make(source, 128, cpus, RUE_PARALLEL_SAMPLE, images, true),
                        batch = loader_bench_make(source, 128, cpus, RUE_PARALLEL_BATCH, images, true),
                        large = loader_bench_make(source, 256, cpus, RUE_PARALLEL_SAMPLE, images, true),
                        many = loader_bench_make(source, 128, 8 * cpus, RUE_PARALLEL_SAMPLE, images, true),
                        start = loader_bench_make(source, 128, cpus, RUE_PARALLEL_SAMPLE, 256, true);
    const struct bench_side sides[] = {
        {"threads", thread_bench_run, &all},   {"one thread", thread_bench_run, &one},
        {"sample", loader_bench_run, &sample}, {"batch", loader_bench_run, &batch},
        {"large", loader_bench_run, &large},   {"many", loader_bench_run, &many},
        {"start", first_batch, &start},
    };
    double medians[7];
    bench_run(sides, 7, repeats, medians);
    double limit = cpus * medians[1];
    bench_row("raw, batch_size 128, sample", "images/s", medians[2], "CPUs x one thread's pipeline", limit,
              ">= 0.97");
    bench_row("raw, batch_size 128, sample", "images/s", medians[2], "as many threads without a loader",
              medians[0], ">= 0.97");
    bench_row("raw, batch_size 256, sample", "images/s", medians[4], "CPUs x one thread's pipeline", limit,
              ">= 0.97");
    bench_row("raw, batch_size 128, batch", "images/s", medians[3], "CPUs x one thread's pipeline", limit,
              "");
    bench_row("raw, 8 workers a CPU", "images/s", medians[5], "one worker a CPU", medians[2], ">= 0.97");
    bench_row("raw, the first batch of 128, sample", "1/s", medians[6], "128 images at the limit's rate",
              limit / 128, "");
    rue_source_close(source);
}
