/* Delivers batches, one epoch after another, and answers each line "SKIP COUNT" of its input: drops SKIP
 * batches, then prints the seconds that the next COUNT take.   loader_stream DATA BATCH_SIZE NUM_WORKERS
 * DTYPE loader_python.py compares it with Loader, whose options and batches at hand it repeats. */
#include "loader_bench.h"

struct stream {
    struct rue_loader *loader;
    struct rue_batch *held; /* as in a loop of Python, until the next one is there */
    uint64_t epoch;
};

static void next_batch(struct stream *stream)
{
    struct rue_batch *batch;
    rue_error error = {0};
    bench_check(rue_loader_next(stream->loader, &batch, &error), &error);
    if (stream->held) rue_loader_release(stream->loader, stream->held);
    stream->held = batch;
    if (batch) return;
    bench_check(rue_loader_rewind(stream->loader, ++stream->epoch, 0, &error), &error);
    next_batch(stream);
}

static double seconds_of(struct stream *stream, int batches)
{
    double start = bench_now();
    for (int i = 0; i < batches; i++) next_batch(stream);
    return bench_now() - start;
}

int main(int argc, char **argv)
{
    if (argc != 5) return fputs("usage: loader_stream DATA BATCH_SIZE NUM_WORKERS DTYPE\n", stderr), 2;
    rue_error error = {0};
    struct rue_source *source;
    struct stream stream = {0};
    bench_check(rue_source_open(argv[1], NULL, &source, &error), &error);
    struct loader_bench bench = loader_bench_make(source, atoi(argv[2]), atoi(argv[3]), RUE_PARALLEL_BATCH,
                                                  rue_source_count(source), true);
    bench.options.fetcher.dtype = strcmp(argv[4], "uint8") == 0 ? RUE_UINT8 : RUE_FLOAT32;
    bench.options.drop_last = bench.options.continues = true;
    bench.options.max_held = 3;
    bench_check(rue_loader_open(source, &bench.options, &stream.loader, &error), &error);
    for (int skip, count; scanf("%d %d", &skip, &count) == 2; fflush(stdout)) {
        seconds_of(&stream, skip);
        printf("%.9f\n", seconds_of(&stream, count));
    }
    if (stream.held) rue_loader_release(stream.loader, stream.held);
    rue_loader_close(stream.loader);
    rue_source_close(source);
}
