#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "file_io.h"
#include "machine.h"
#include "temporary_folder.h"

enum { BYTES = 100000 };

TestSuite(mapping, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 30);

static int make_file(void)
{
    unsigned char *bytes = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i % 251);
    int fd = open(temporary_path("x"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, bytes, BYTES) == BYTES);
    free(bytes);
    return fd;
}

Test(mapping, shows_the_bytes_of_the_file)
{
    struct rue_mapping mapping;
    int fd = make_file();
    rue_mapping_open(&mapping, fd, BYTES);
    cr_assert(rue_mapping_in_memory(&mapping) && rue_mapping_in_memory(&mapping));
    const unsigned char *view = rue_mapping_at(&mapping, 5000, 3000);
    cr_assert(view && view[0] == 5000 % 251 && view[2999] == 7999 % 251);
    cr_assert_not_null(rue_mapping_at(&mapping, BYTES - 1, 1));
    rue_mapping_close(&mapping);
    close(fd);
}

Test(mapping, ends_where_the_file_does)
{
    struct rue_mapping mapping;
    int fd = make_file();
    rue_mapping_open(&mapping, fd, BYTES);
    cr_assert(rue_mapping_in_memory(&mapping));
    cr_assert_eq(ftruncate(fd, 6000), 0);
    errno = EIO;
    cr_assert_null(rue_mapping_at(&mapping, 5000, 1001));
    cr_assert_eq(errno, 0);
    cr_assert_not_null(rue_mapping_at(&mapping, 5000, 1000));
    rue_mapping_close(&mapping);
    close(fd);
}

Test(mapping, a_file_that_is_not_in_memory_is_not_mapped)
{
    struct rue_mapping mapping;
    int fd = make_file();
    cr_assert(fsync(fd) == 0);
    rue_mapping_open(&mapping, fd, BYTES);
    cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    unsigned char resident[BYTES / 4096 + 1] = {0};
    cr_assert_eq(mincore(mapping.data, BYTES, resident), 0);
    cr_assert_eq(rue_mapping_in_memory(&mapping), resident[0] & 1, "a memory file system keeps it");
    rue_mapping_close(&mapping);
    close(fd);
}

Test(mapping, uses_no_addresses_if_they_are_limited)
{
    struct rue_mapping mapping;
    struct rlimit limit, less;
    int fd = make_file();
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    less = limit;
    less.rlim_cur = UINT64_C(1) << 46; /* more than sanitizers need */
    cr_assert_eq(setrlimit(RLIMIT_AS, &less), 0);
    rue_mapping_open(&mapping, fd, BYTES);
    cr_assert(!mapping.data && !rue_mapping_in_memory(&mapping));
    rue_mapping_close(&mapping);
    setrlimit(RLIMIT_AS, &limit);
    close(fd);
}

Test(mapping, a_file_larger_than_memory_is_not_mapped)
{
    struct rue_mapping mapping;
    uint64_t bytes = rue_machine_read().memory_bytes + (UINT64_C(1) << 30);
    int fd = make_file();
    if (ftruncate(fd, (off_t)bytes) != 0) cr_skip("the file system has no files of that size");
    rue_mapping_open(&mapping, fd, bytes);
    cr_assert(!rue_mapping_in_memory(&mapping), "holes need no storage, but memory");
    rue_mapping_close(&mapping);
    close(fd);
}
