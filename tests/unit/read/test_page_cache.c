#include "file_io.h"

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "temporary_folder.h"

enum { BYTES = 64 * 4096 + 100 };

static int fd;
static char data[BYTES];

static void setup(void)
{
    temporary_folder_make();
    memset(data, 7, sizeof data);
    temporary_file("x", data, sizeof data);
    fd = open(temporary_path("x"), O_RDONLY | O_CLOEXEC);
}

static void teardown(void)
{
    close(fd);
    temporary_folder_remove();
}

TestSuite(page_cache, .init = setup, .fini = teardown, .timeout = 30);

static uint64_t count(uint64_t offset, uint64_t bytes)
{
    uint64_t there;
    if (!rue_page_cache_count(fd, offset, bytes, &there)) cr_skip("this kernel does not tell");
    return there;
}

/* Evicted, or the test has nothing to say here. */
static void evict(void)
{
    rue_page_cache_evict(fd);
    if (count(0, BYTES) == BYTES) cr_skip("the folder for temporary files lies in memory");
}

Test(page_cache, contains_pages_just_written)
{
    cr_assert_eq(count(0, BYTES), BYTES);
    cr_assert_eq(count(5000, 100), 100);
    cr_assert_eq(count(BYTES - 1, 1), 1);
    cr_assert_eq(count(0, 0), 0);
}

Test(page_cache, lets_go_of_bytes_that_were_not_on_storage_yet)
{
    evict();
    cr_assert_eq(count(0, BYTES), 0);
    char again[BYTES];
    cr_assert_eq(pread(fd, again, BYTES, 0), BYTES);
    cr_assert_eq(memcmp(again, data, BYTES), 0, "nothing is lost");
    cr_assert_eq(count(0, BYTES), BYTES);
}

Test(page_cache, a_query_loads_no_pages)
{
    evict();
    for (int i = 0; i < 10; i++) cr_assert_eq(count((uint64_t)i * 4096, 4096), 0);
}

Test(page_cache, counts_the_pages_of_a_range)
{
    evict();
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* no more than what is read */
    char byte;
    cr_assert_eq(pread(fd, &byte, 1, 10 * 4096), 1);
    cr_assert_eq(count(10 * 4096, 4096), 4096);
    cr_assert_eq(count(10 * 4096 + 5, 10), 10);
    cr_assert_eq(count(0, 5 * 4096), 0);
    cr_assert_lt(count(9 * 4096 + 4000, 200), 200, "half of it is elsewhere");
}

Test(page_cache, keeps_pages_that_are_mapped_and_touched)
{
    evict();
    volatile char *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    cr_assert(map != MAP_FAILED && map[0] == 7);
    rue_page_cache_evict(fd);
    cr_assert_eq(count(0, BYTES), BYTES);
    munmap((void *)map, BYTES);
    rue_page_cache_evict(fd);
    cr_assert_eq(count(0, BYTES), 0);
}
