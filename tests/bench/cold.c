/* Records a second of the loader on a tensor file that is not in memory, beside fio where it is installed,
 * and beside direct reads by threads of this process into as much memory as the loader's.  cold FILE
 * [REPEATS] */
#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>

#include "loader_bench.h"
#include "tensor_file.h"

enum { BATCH_SIZE = 64, TENSORS = 5 * BATCH_SIZE /* of 2 workers with prefetch_factor 2 */ };

static const char *path;
static struct rue_tensor_header header;
static uint64_t images;

/* Puts the file out of the page cache. */
static void evict(void)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) exit(1);
    char byte;
    struct iovec one = {&byte, 1};
    off_t middle = (off_t)(header.data_offset + images / 2 * header.record_stride);
    if (preadv2(fd, &one, 1, middle, RWF_NOWAIT) == 1) {
        fprintf(stderr, "%s stays in memory: its file system has no other place for it\n", path);
        exit(1);
    }
    close(fd);
}

static double load(void *context)
{
    struct loader_bench *bench = context;
    struct rue_source *source;
    rue_error error = {0};
    evict();
    bench_check(rue_source_open(path, &(struct rue_source_options){.format = "tensor"}, &source, &error),
                &error);
    bench->source = source;
    double rate = loader_bench_run(bench);
    rue_source_close(source);
    return rate;
}

/* ---- direct reads ---- */

struct reader {
    int fd;
    void *levels; /* of one record of uint8, which a loader has to normalise elsewhere */
    bool shuffle;
};

static void *open_direct(void *context)
{
    struct reader *reader = malloc(sizeof *reader);
    void *levels = header.dtype == RUE_UINT8 ? aligned_alloc(4096, header.record_stride) : NULL;
    *reader = (struct reader){open(path, O_RDONLY | O_DIRECT | O_CLOEXEC), levels, *(const bool *)context};
    return reader;
}

static void read_direct(void *state, uint64_t item, float *tensor)
{
    struct reader *reader = state;
    const struct rue_sampler order = {
        .items = header.count, .seed = 2, .shuffle = reader->shuffle, .world_size = 1};
    off_t offset = (off_t)(header.data_offset + rue_sampler_item(&order, item) * header.record_stride);
    ssize_t bytes = (ssize_t)header.record_stride;
    if (pread(reader->fd, reader->levels ? reader->levels : tensor, (size_t)bytes, offset) == bytes) return;
    perror("direct read");
    exit(1);
}

static void close_direct(void *state)
{
    struct reader *reader = state;
    close(reader->fd);
    free(reader->levels);
    free(reader);
}

static double direct(void *context)
{
    evict();
    return thread_bench_run(context);
}

/* ---- fio ---- */

struct fio {
    const char *engine;
    int depth;
    bool shuffle;
};

/* fio's terse line, version 3: the sixth field is KiB read, the ninth the milliseconds. */
static double run_fio(void *context)
{
    const struct fio *fio = context;
    char command[PATH_MAX + 512];
    snprintf(
        command, sizeof command,
        "fio --name=cold --filename='%s' --readonly --direct=1 --ioengine=%s --iodepth=%d --rw=%s --bs=%u "
        "--offset=%llu --size=%llu --output-format=terse --terse-version=3",
        path, fio->engine, fio->depth, fio->shuffle ? "randread" : "read", (unsigned)header.record_stride,
        (unsigned long long)header.data_offset, (unsigned long long)(images * header.record_stride));
    evict();
    FILE *out = popen(command, "r");
    double kib = 0, ms = 0;
    int fields = out ? fscanf(out, "%*[^;];%*[^;];%*[^;];%*[^;];%*[^;];%lf;%*[^;];%*[^;];%lf", &kib, &ms) : 0;
    if (out && pclose(out) == 0 && fields == 2) return kib * 1024 / (double)header.record_stride / ms * 1e3;
    fprintf(stderr, "failed: %s\n", command);
    exit(1);
}

/* ---- table ---- */

static const int threads[] = {1, 4, 16}, workers[] = {1, 2, 4};
static const struct {
    const char *engine;
    int depth;
} engines[] = {{"psync", 1}, {"io_uring", 8}, {"io_uring", 32}};

static double largest(const double *values, int count)
{
    double most = values[0];
    for (int i = 1; i < count; i++)
        if (values[i] > most) most = values[i];
    return most;
}

static void measure(const bool *shuffle, int repeats)
{
    enum { FIOS = 3, THREADS = 3, WORKERS = 3, ACCESSES = 2, LOADS = WORKERS * ACCESSES };
    bool has_fio = system("fio --version >/dev/null 2>&1") == 0;
    struct loader_bench loads[LOADS];
    struct thread_bench directs[THREADS];
    struct fio fios[FIOS];
    struct bench_side sides[LOADS + THREADS + FIOS];
    int count = 0;
    for (int l = 0; l < LOADS; l++) {
        loads[l] =
            loader_bench_make(NULL, BATCH_SIZE, workers[l / ACCESSES], RUE_PARALLEL_BATCH, images, *shuffle);
        loads[l].options.fetcher.access = l % ACCESSES ? RUE_ACCESS_DIRECT : RUE_ACCESS_READ;
        sides[count++] = (struct bench_side){"load", load, &loads[l]};
    }
    for (int d = 0; d < THREADS; d++) {
        directs[d] = (struct thread_bench){.threads = threads[d],
                                           .items = images,
                                           .step = 1,
                                           .slab_tensors = (size_t)(TENSORS / threads[d]),
                                           .open = open_direct,
                                           .work = read_direct,
                                           .close = close_direct,
                                           .context = (void *)shuffle};
        sides[count++] = (struct bench_side){"direct", direct, &directs[d]};
    }
    for (int f = 0; has_fio && f < FIOS; f++) {
        fios[f] = (struct fio){engines[f].engine, engines[f].depth, *shuffle};
        sides[count++] = (struct bench_side){"fio", run_fio, &fios[f]};
    }
    double medians[LOADS + THREADS + FIOS];
    bench_run(sides, count, repeats, medians);
    double direct_rate = largest(medians + LOADS, THREADS),
           fio_rate = has_fio ? largest(medians + LOADS + THREADS, FIOS) : 0;
    for (int l = 0; l < LOADS; l++) {
        char what[96];
        const char *goal = l % ACCESSES && workers[l / ACCESSES] > 1 ? ">= 0.9" : "";
        snprintf(what, sizeof what, "cold %s, %d worker%s, %s, %s", rue_dtype_names[header.dtype],
                 workers[l / ACCESSES], workers[l / ACCESSES] > 1 ? "s" : "",
                 *shuffle ? "shuffled" : "in order", l % ACCESSES ? "past the page cache" : "read");
        bench_row(what, "images/s", medians[l], "direct reads by 1, 4 or 16 threads", direct_rate,
                  has_fio ? "" : goal);
        if (has_fio) bench_row(what, "images/s", medians[l], "fio, psync or io_uring", fio_rate, goal);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: cold FILE [REPEATS]\n", stderr), 2;
    path = argv[1];
    int fd = open(path, O_RDONLY | O_CLOEXEC), repeats = argc > 2 ? atoi(argv[2]) : 9;
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header) return perror(path), 1;
    fsync(fd);
    close(fd);
    images = header.count < 1000 ? header.count : 1000;
    static const bool shuffled[] = {false, true};
    for (int s = 0; s < 2; s++) measure(&shuffled[s], repeats);
}
