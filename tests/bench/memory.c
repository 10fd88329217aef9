/* Memory of a loader at work on 100 thousand items and on 100 million: a source of one's own, and tensor
 * files whose records are holes.   memory */
#include <fcntl.h>
#include <sys/wait.h>

#include "crc32c.h"
#include "loader_bench.h"
#include "no_work_source.h"
#include "tensor_file.h"

enum { IMAGES = 20000 };

/* A file of `count` uint8 records, all zero, none of which takes space. */
static void make_holes(const char *path, uint64_t count)
{
    uint64_t stride = rue_tensor_aligned(RUE_TENSOR_ITEMS), labels = RUE_TENSOR_ALIGN + count * stride;
    struct rue_tensor_header header = {.magic = RUE_TENSOR_MAGIC,
                                       .version = RUE_TENSOR_VERSION,
                                       .dtype = RUE_UINT8,
                                       .count = count,
                                       .channels = RUE_CHANNELS,
                                       .height = RUE_IMAGE_SIZE,
                                       .width = RUE_IMAGE_SIZE,
                                       .record_stride = stride,
                                       .data_offset = RUE_TENSOR_ALIGN,
                                       .labels_offset = labels,
                                       .crcs_offset = labels + 4 * count,
                                       .classes_offset = labels + 8 * count,
                                       .file_bytes = labels + 8 * count};
    static const char zeros[1 << 16];
    for (uint64_t left = 8 * count, bytes; left > 0; left -= bytes) {
        bytes = left < sizeof zeros ? left : sizeof zeros;
        header.index_crc = rue_crc32c(header.index_crc, zeros, bytes);
    }
    header.header_crc = rue_crc32c(0, &header, offsetof(struct rue_tensor_header, header_crc));
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, &header, sizeof header) != sizeof header ||
        ftruncate(fd, (off_t)header.file_bytes) != 0) {
        perror(path);
        exit(1);
    }
    close(fd);
}

/* What the page cache holds is the system's. */
static double anonymous_mb(void)
{
    char line[128];
    double kb = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %lf kB", &kb) == 1) break;
    fclose(status);
    return kb / 1024;
}

/* MB of this process behind the last batch. */
static double load(struct rue_source *source)
{
    struct loader_bench bench = loader_bench_make(source, 32, 4, RUE_PARALLEL_SAMPLE, IMAGES, true);
    struct rue_loader *loader;
    struct rue_batch *batch;
    rue_error error = {0};
    bench_check(rue_loader_open(source, &bench.options, &loader, &error), &error);
    for (;;) {
        bench_check(rue_loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        rue_loader_release(loader, batch);
    }
    double mb = anonymous_mb();
    rue_loader_close(loader);
    rue_source_close(source);
    return mb;
}

static double load_no_work(uint64_t count)
{
    return load(no_work_source_open(count));
}

static double load_holes(uint64_t count)
{
    char path[] = "/tmp/rue_bench_XXXXXX";
    struct rue_source *source;
    rue_error error = {0};
    close(mkstemp(path));
    make_holes(path, count);
    rue_status status =
        rue_source_open(path, &(struct rue_source_options){.format = "tensor"}, &source, &error);
    unlink(path);
    bench_check(status, &error);
    return load(source);
}

/* In a process of its own. */
static double memory_mb(double (*load_items)(uint64_t), uint64_t count)
{
    int out[2];
    double mb = 0;
    if (pipe(out) != 0) return 0;
    pid_t child = fork();
    if (child == 0) {
        mb = load_items(count);
        _exit(write(out[1], &mb, sizeof mb) != sizeof mb);
    }
    close(out[1]);
    if (read(out[0], &mb, sizeof mb) != sizeof mb) exit(1);
    close(out[0]);
    waitpid(child, NULL, 0);
    return mb;
}

int main(void)
{
    bench_row("memory, 100 million items of a source that takes none", "MB",
              memory_mb(load_no_work, 100000000), "100 thousand items", memory_mb(load_no_work, 100000),
              "<= 1.05");
    bench_row("memory, a tensor file of 100 million items", "MB", memory_mb(load_holes, 100000000),
              "100 thousand items", memory_mb(load_holes, 100000), "<= 1.05");
}
