/* Loaded before the C library (LD_PRELOAD): the n-th allocation fails.
 *
 *   FAIL_MEMORY="N ROLE REPORT"
 *
 * N counts from 1; "3+" is the third and every later one, "0" none. Counted are the allocations of all
 * processes whose first argument is ROLE ("tune", "runner"), from when their libraries are loaded on. REPORT
 * is a file of two 64-bit numbers that is there already: how many there were, and how many of them failed; it
 * is right at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static struct counts {
    _Atomic uint64_t seen, failed;
} * counts; /* NULL: nothing is counted */
static uint64_t first_failing;
static bool and_later;

static bool fails(void)
{
    if (!counts) return false;
    uint64_t number = atomic_fetch_add(&counts->seen, 1) + 1;
    if (!first_failing || number < first_failing || (number > first_failing && !and_later)) return false;
    atomic_fetch_add(&counts->failed, 1);
    errno = ENOMEM;
    return true;
}

static bool has_role(const char *role)
{
    char words[4096] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (fd >= 0) close(fd);
    size_t first = strlen(words) + 1;
    return got > (ssize_t)first && strcmp(words + first, role) == 0;
}

__attribute__((constructor)) static void begin(void)
{
    char number[32], role[64], report[4096];
    const char *asked = getenv("FAIL_MEMORY");
    if (!asked || sscanf(asked, "%31s %63s %4095s", number, role, report) != 3 || !has_role(role)) return;
    char *end;
    first_failing = strtoull(number, &end, 10);
    and_later = *end == '+';
    int fd = open(report, O_RDWR | O_CLOEXEC);
    void *shared = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) abort();
    close(fd);
    counts = shared;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (fails()) return ENOMEM;
    void *got = __libc_memalign(alignment, bytes);
    if (!got) return ENOMEM;
    *out = got;
    return 0;
}
