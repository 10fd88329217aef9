/* What a longer queue gains where storage sets the pace: the time of an iteration, with a full queue at the
 * start and a consumer that is faster than storage, beside that of a queue that is only a head start.
 * The times of the published notes (2.5 s an iteration with a queue of 1, 1.9 s with 8), a hundredth each. */
#include "loader_bench.h"
#include "no_work_source.h"

enum { EARLY = 30, BATCHES = 2 * EARLY };

static const double batch_s = 0.02586; /* of storage, for all workers together */

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

static rue_status read_slowly(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    static double free_at;
    pthread_mutex_lock(&disk);
    double now = bench_now();
    if (free_at < now) free_at = now;
    free_at += batch_s;
    double wait_s = free_at - now;
    pthread_mutex_unlock(&disk);
    usleep((useconds_t)(wait_s * 1e6));
    return no_work_read(index, item, into, error);
}

static void take_batches(struct rue_loader *loader, int count)
{
    struct rue_batch *batch;
    rue_error error = {0};
    for (int i = 0; i < count; i++) {
        bench_check(rue_loader_next(loader, &batch, &error), &error);
        rue_loader_release(loader, batch);
    }
}

int main(void)
{
    static const struct rue_source_ops slow_ops = {
        .format = "none", .has_mode = {[RUE_PREPROCESSED] = true}, .read = read_slowly};
    struct rue_source *source = no_work_source_open_as(&slow_ops, 1000);
    static const int worker_counts[] = {1, 2, 4}, sizes[] = {1, 2, 4, 8};
    for (int w = 0; w < 3; w++)
        for (int s = 0; s < 4; s++) {
            struct loader_bench bench =
                loader_bench_make(source, 1, worker_counts[w], RUE_PARALLEL_BATCH, BATCHES, false);
            struct rue_loader *loader;
            rue_error error = {0};
            char what[96];
            bench.options.prefetch_factor = 8;
            bench.options.max_queue_size = sizes[s];
            bench_check(rue_loader_open(source, &bench.options, &loader, &error), &error);
            usleep((useconds_t)((sizes[s] + 2) * batch_s * 1e6)); /* the queue fills */
            double start = bench_now();
            take_batches(loader, EARLY);
            double middle = bench_now();
            take_batches(loader, BATCHES - EARLY);
            double end = bench_now();
            rue_loader_close(loader);
            snprintf(what, sizeof what, "%d worker%s, queue of %d: first %d iterations", worker_counts[w],
                     worker_counts[w] == 1 ? "" : "s", sizes[s], EARLY);
            bench_row(what, "ms", (middle - start) / EARLY * 1e3, "a head start",
                      batch_s * (EARLY - sizes[s]) / EARLY * 1e3, "<= 1.1");
            snprintf(what, sizeof what, "%d worker%s, queue of %d: later iterations", worker_counts[w],
                     worker_counts[w] == 1 ? "" : "s", sizes[s]);
            bench_row(what, "ms", (end - middle) / (BATCHES - EARLY) * 1e3, "storage", batch_s * 1e3,
                      "<= 1.1");
        }
    rue_source_close(source);
    return 0;
}
