/* What the loader itself costs, with items that take no time.   overheads [REPEATS] */
#include <sys/resource.h>
#include <sys/time.h>

#include "loader_bench.h"
#include "no_work_source.h"

static struct rue_source *source;

/* Milliseconds to open a loader and stop its workers. */
static double start_stop(void *context)
{
    struct loader_bench *bench = context;
    struct rue_loader *loader;
    rue_error error = {0};
    double start = bench_now();
    bench_check(rue_loader_open(source, &bench->options, &loader, &error), &error);
    rue_loader_stop(loader);
    double elapsed = bench_now() - start;
    rue_loader_close(loader);
    return elapsed * 1e3;
}

static void drain(struct rue_loader *loader)
{
    struct rue_batch *batch;
    rue_error error = {0};
    for (;; rue_loader_release(loader, batch)) {
        bench_check(rue_loader_next(loader, &batch, &error), &error);
        if (!batch) return;
    }
}

/* Microseconds an item, in the second epoch: in the first one the system clears the memory of the batches. */
static double item_cost(void *context)
{
    struct loader_bench *bench = context;
    struct rue_loader *loader;
    rue_error error = {0};
    bench_check(rue_loader_open(source, &bench->options, &loader, &error), &error);
    drain(loader);
    double start = bench_now();
    bench_check(rue_loader_rewind(loader, 1, 0, &error), &error);
    drain(loader);
    double elapsed = bench_now() - start;
    rue_loader_close(loader);
    return 1e6 * elapsed / (double)bench->options.images;
}

/* CPU seconds for a second of waiting: a full queue whose consumer does not come. */
static double idle_cpu(void *context)
{
    struct loader_bench *bench = context;
    struct rue_loader *loader;
    struct rusage before, after;
    rue_error error = {0};
    bench_check(rue_loader_open(source, &bench->options, &loader, &error), &error);
    usleep(50000);
    getrusage(RUSAGE_SELF, &before);
    usleep(500000);
    getrusage(RUSAGE_SELF, &after);
    rue_loader_close(loader);
    struct timeval user, kernel;
    timersub(&after.ru_utime, &before.ru_utime, &user);
    timersub(&after.ru_stime, &before.ru_stime, &kernel);
    return ((double)(user.tv_sec + kernel.tv_sec) + (double)(user.tv_usec + kernel.tv_usec) * 1e-6) / 0.5;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 11, cpus = bench_cpus();
    source = no_work_source_open(1000000);
    struct loader_bench idle = loader_bench_make(source, 32, 16, RUE_PARALLEL_SAMPLE, 100000, false),
                        inlined = loader_bench_make(source, 128, 0, RUE_PARALLEL_SAMPLE, 200000, false),
                        one = inlined, all = inlined, many = inlined, batch = inlined;
    one.options.num_workers = 1;
    all.options.num_workers = cpus;
    many.options.num_workers = 256;
    many.options.batch_size = 8;
    batch.options.num_workers = cpus;
    batch.options.parallelism = RUE_PARALLEL_BATCH;
    const struct bench_side sides[] = {{"start", start_stop, &idle},    {"idle", idle_cpu, &idle},
                                       {"inline", item_cost, &inlined}, {"one", item_cost, &one},
                                       {"all", item_cost, &all},        {"many", item_cost, &many},
                                       {"batch", item_cost, &batch}};
    double medians[7];
    bench_run(sides, 7, repeats, medians);
    bench_row("opening and stopping a loader with 16 workers", "ms", medians[0], "the goal", 2, "<= 1");
    bench_row("idle workers, CPU of one core", "s/s", medians[1], "the goal", 0.02, "<= 1");
    bench_row("an item that takes no time, in the consumer's thread", "us", medians[2], "the goal", 1,
              "<= 1");
    bench_row("the same with 1 worker, sample", "us", medians[3], "the goal", 1, "<= 1");
    bench_row("the same with a worker a CPU, sample", "us", medians[4], "the goal", 1, "<= 1");
    bench_row("the same with a worker a CPU, batch", "us", medians[6], "the goal", 1, "<= 1");
    bench_row("the same with 256 workers, sample", "us", medians[5], "the goal", 1, "<= 1");
    rue_source_close(source);
}
