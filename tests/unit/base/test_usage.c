#include "usage.h"

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "temporary_folder.h"

enum { BYTES = 32 << 20, SLACK = 4 << 20 };

Test(usage, memory_that_was_written_counts_as_anonymous)
{
    struct rue_usage before = rue_usage_read();
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    struct rue_usage reserved = rue_usage_read();
    cr_assert_lt(reserved.anon_bytes, before.anon_bytes + SLACK, "memory that nobody touched is no use");
    memset(memory, 1, BYTES);
    struct rue_usage after = rue_usage_read();
    cr_assert_geq(after.anon_bytes + SLACK, before.anon_bytes + BYTES);
    munmap(memory, BYTES);
    cr_assert_lt(rue_usage_read().anon_bytes, after.anon_bytes - BYTES / 2, "it is given back");
}

Test(usage, pages_of_a_file_count_as_file_backed, .init = temporary_folder_make,
     .fini = temporary_folder_remove)
{
    static char data[BYTES / 4];
    memset(data, 1, sizeof data);
    temporary_file("data", data, sizeof data);
    struct rue_usage before = rue_usage_read();
    FILE *file = fopen(temporary_path("data"), "rb");
    volatile char *map = mmap(NULL, sizeof data, PROT_READ, MAP_SHARED | MAP_POPULATE, fileno(file), 0);
    cr_assert(map != MAP_FAILED);
    int sum = 0;
    for (size_t i = 0; i < sizeof data; i += 4096) sum += map[i];
    cr_assert_eq(sum, (int)sizeof data / 4096);
    struct rue_usage after = rue_usage_read();
    cr_assert_geq(after.file_bytes + SLACK, before.file_bytes + sizeof data);
    cr_assert_lt(after.anon_bytes, before.anon_bytes + SLACK);
    munmap((void *)map, sizeof data);
    fclose(file);
}

/* Whether the kernel says that it has no page of the file. */
static bool is_evicted(int fd, size_t bytes)
{
    unsigned char resident[BYTES / 4 / 4096];
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    bool evicted = map != MAP_FAILED && mincore(map, bytes, resident) == 0;
    for (size_t i = 0; evicted && i < bytes / 4096; i++) evicted = !(resident[i] & 1);
    if (map != MAP_FAILED) munmap(map, bytes);
    return evicted;
}

Test(usage, bytes_from_storage_count_and_those_of_the_cache_do_not, .init = temporary_folder_make,
     .fini = temporary_folder_remove)
{
    static char data[BYTES / 4];
    memset(data, 1, sizeof data);
    temporary_file("data", data, sizeof data);
    int fd = open(temporary_path("data"), O_RDONLY);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    bool told = access("/proc/self/io", R_OK) == 0, cold = is_evicted(fd, sizeof data);
    uint64_t before = rue_usage_read().read_bytes;
    cr_assert_eq(pread(fd, data, sizeof data, 0), (ssize_t)sizeof data);
    uint64_t after = rue_usage_read().read_bytes;
    cr_assert_eq(pread(fd, data, sizeof data, 0), (ssize_t)sizeof data);
    uint64_t again = rue_usage_read().read_bytes;
    cr_assert(before <= after && after <= again, "it never shrinks");
    close(fd);
    if (!told || !cold) cr_skip("this kernel or file system does not let the cache be emptied");
    cr_assert_geq(after - before, sizeof data);
    cr_assert_lt(again - after, SLACK, "the second time it came from the cache");
}

Test(usage, work_uses_processor_time)
{
    struct rue_usage before = rue_usage_read(), after = before;
    volatile uint64_t sum = 0;
    for (int turn = 0; turn < 1000 && after.cpu_ns == before.cpu_ns; turn++) {
        for (int i = 0; i < 1000000; i++) sum += (uint64_t)i;
        after = rue_usage_read();
    }
    cr_assert_gt(after.cpu_ns, before.cpu_ns);
}
