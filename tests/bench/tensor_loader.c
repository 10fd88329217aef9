/* Records a second of the loader on a tensor file, beside threads that read them into reused slabs without a
 * loader. tensor_loader FILE [REPEATS] */
#include <fcntl.h>

#include "loader_bench.h"
#include "tensor_file.h"
#include "transform.h"

struct file {
    int fd;
    struct rue_tensor_header header;
};

struct reader {
    const struct file *file;
    unsigned char *levels; /* of a uint8 record */
    struct rue_transform *transform;
};

static void *open_reader(void *context)
{
    struct reader *reader = malloc(sizeof *reader);
    *reader = (struct reader){context, malloc(RUE_TENSOR_ITEMS), NULL};
    const struct rue_transform_options options = {.geometry = rue_geometry_default()};
    if (rue_transform_open(&options, &reader->transform, NULL) != RUE_OK) abort();
    return reader;
}

static void read_record(void *state, uint64_t item, float *tensor)
{
    const struct reader *reader = state;
    const struct file *file = reader->file;
    bool levels = file->header.dtype == RUE_UINT8;
    size_t bytes = levels ? RUE_TENSOR_ITEMS : RUE_TENSOR_ITEMS * sizeof(float);
    off_t offset = (off_t)(file->header.data_offset + item * file->header.record_stride);
    if (pread(file->fd, levels ? (void *)reader->levels : tensor, bytes, offset) != (ssize_t)bytes) abort();
    static const uint32_t shape[] = {RUE_CHANNELS, RUE_IMAGE_SIZE, RUE_IMAGE_SIZE};
    if (levels) rue_transform_convert(reader->transform, shape, RUE_UINT8, reader->levels, tensor);
}

static void close_reader(void *state)
{
    struct reader *reader = state;
    rue_transform_close(reader->transform);
    free(reader->levels);
    free(reader);
}

static void read_header(const char *path, struct file *file)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd >= 0 && pread(file->fd, &file->header, sizeof file->header, 0) == sizeof file->header)
        return;
    perror(path);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: tensor_loader FILE [REPEATS]\n", stderr), 2;
    rue_error error = {0};
    struct rue_source *source;
    struct file file;
    bench_check(rue_source_open(argv[1], &(struct rue_source_options){.format = "tensor"}, &source, &error),
                &error);
    read_header(argv[1], &file);
    uint64_t images = rue_source_count(source);
    int cpus = bench_cpus(), repeats = argc > 2 ? atoi(argv[2]) : 15;
    struct thread_bench limit = {cpus, images, 1, 128, open_reader, read_record, close_reader, &file};
    struct loader_bench sequential = loader_bench_make(source, 128, cpus, RUE_PARALLEL_SAMPLE, images, false),
                        shuffled = loader_bench_make(source, 128, cpus, RUE_PARALLEL_SAMPLE, images, true),
                        batch = loader_bench_make(source, 128, cpus, RUE_PARALLEL_BATCH, images, false),
                        large = loader_bench_make(source, 256, cpus, RUE_PARALLEL_SAMPLE, images, false);
    const struct bench_side sides[] = {{"limit", thread_bench_run, &limit},
                                       {"sequential", loader_bench_run, &sequential},
                                       {"shuffled", loader_bench_run, &shuffled},
                                       {"batch", loader_bench_run, &batch},
                                       {"large", loader_bench_run, &large}};
    double medians[5];
    bench_run(sides, 5, repeats, medians);
    char what[64];
    const char *dtype = rue_dtype_names[file.header.dtype], *name = "pread into reused slabs on all CPUs";
    const char *const cases[] = {"batch_size 128, sample", "batch_size 128, sample, shuffled",
                                 "batch_size 128, batch", "batch_size 256, sample"};
    for (int i = 0; i < 4; i++) {
        snprintf(what, sizeof what, "%s, %s", dtype, cases[i]);
        bench_row(what, "images/s", medians[i + 1], name, medians[0], i == 3 ? "" : ">= 0.95");
    }
    rue_source_close(source);
}
