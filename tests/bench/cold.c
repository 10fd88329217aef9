/* Records a second of the loader on a tensor file that is not in memory, beside direct reads of the same
 * records by 1 to 32 threads, of which the best is the limit.   cold FILE [REPEATS] */
#include <fcntl.h>

#include "loader_bench.h"
#include "tensor_file.h"

static const char *path;
static struct rue_tensor_header header;
static const bool in_order = false, shuffled = true;

/* Puts the file out of the page cache. */
static void forget(void)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) exit(1);
    close(fd);
}

static double load(void *context)
{
    struct loader_bench *bench = context;
    struct rue_source *source;
    rue_error error = {0};
    forget();
    bench_check(rue_source_open(path, "tensor", &source, &error), &error);
    bench->source = source;
    double rate = loader_bench_run(bench);
    rue_source_close(source);
    return rate;
}

struct reader {
    int fd;
    void *buffer;
    bool shuffle;
};

static void *open_direct(void *context)
{
    struct reader *reader = malloc(sizeof *reader);
    *reader = (struct reader){open(path, O_RDONLY | O_DIRECT | O_CLOEXEC),
                              aligned_alloc(4096, header.record_stride), *(const bool *)context};
    return reader;
}

static void read_direct(void *state, uint64_t item, float *tensor)
{
    (void)tensor;
    struct reader *reader = state;
    const struct rue_sampler order = {
        .items = header.count, .seed = 2, .shuffle = reader->shuffle, .world_size = 1};
    off_t offset = (off_t)(header.data_offset + rue_sampler_item(&order, item) * header.record_stride);
    ssize_t bytes = (ssize_t)header.record_stride;
    if (pread(reader->fd, reader->buffer, (size_t)bytes, offset) == bytes) return;
    perror("direct read");
    exit(1);
}

static void close_direct(void *state)
{
    struct reader *reader = state;
    close(reader->fd);
    free(reader->buffer);
    free(reader);
}

static double direct(void *context)
{
    forget();
    return thread_bench_run(context);
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: cold FILE [REPEATS]\n", stderr), 2;
    path = argv[1];
    int fd = open(path, O_RDONLY | O_CLOEXEC), repeats = argc > 2 ? atoi(argv[2]) : 3;
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header) return perror(path), 1;
    fsync(fd);
    close(fd);
    enum { DEPTHS = 6, WORKERS = 3, LOADS = 4 * WORKERS, SIDES = 2 * DEPTHS + LOADS };
    static const int workers[WORKERS] = {1, 2, 4};
    uint64_t images = header.count < 1000 ? header.count : 1000;
    struct thread_bench limits[2 * DEPTHS];
    struct loader_bench loads[LOADS];
    struct bench_side sides[SIDES];
    for (int d = 0; d < 2 * DEPTHS; d++) {
        const bool *order = d < DEPTHS ? &in_order : &shuffled;
        limits[d] = (struct thread_bench){.threads = 1 << d % DEPTHS,
                                          .items = images,
                                          .step = 1,
                                          .slab_tensors = 1,
                                          .open = open_direct,
                                          .work = read_direct,
                                          .close = close_direct,
                                          .context = (void *)order};
        sides[d] = (struct bench_side){"direct", direct, &limits[d]};
    }
    for (int l = 0; l < LOADS; l++) {
        loads[l] = loader_bench_make(NULL, 64, workers[l / 4], RUE_PARALLEL_BATCH, images, l / 2 % 2);
        loads[l].options.fetcher.access = l % 2 ? RUE_ACCESS_DIRECT : RUE_ACCESS_READ;
        sides[2 * DEPTHS + l] = (struct bench_side){"load", load, &loads[l]};
    }
    double medians[SIDES], limit[2] = {0};
    bench_run(sides, SIDES, repeats, medians);
    for (int d = 0; d < 2 * DEPTHS; d++)
        if (medians[d] > limit[d / DEPTHS]) limit[d / DEPTHS] = medians[d];
    for (int l = 0; l < LOADS; l++) {
        char what[96];
        snprintf(what, sizeof what, "cold %s, %d worker%s, %s, %s", rue_dtype_names[header.dtype],
                 workers[l / 4], workers[l / 4] > 1 ? "s" : "", l / 2 % 2 ? "shuffled" : "in order",
                 l % 2 ? "past the page cache" : "read");
        bench_row(what, "images/s", medians[2 * DEPTHS + l], "direct reads by 1 to 32 threads",
                  limit[l / 2 % 2], workers[l / 4] > 1 && l % 2 ? ">= 0.9" : "");
    }
}
