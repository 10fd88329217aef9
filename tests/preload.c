/* What a test puts between the program and the system (LD_PRELOAD), told by environment variables:
 *
 *   PRELOAD_CALENDAR    the wall clock jumps a year forward and back with every look at it
 *   PRELOAD_ASLEEP      while the file of that name exists, the machine has been suspended for an hour
 *   PRELOAD_NO_LOCKS    flock fails with that error number
 *   PRELOAD_STUCK       the first read of a *.jpg when the file of that name exists removes it and never ends
 *   PRELOAD_CTRL_C_READ the first read of the file of that name sends the process SIGINT
 *   PRELOAD_CTRL_C_PART where that is set, only in a part folder
 *   PRELOAD_FLIP        the last byte differs in every large read of the file of that name in a part folder
 *   PRELOAD_CTRL_C      behind so many calls of fsync and fdatasync the process is sent SIGINT
 *   PRELOAD_SLOW_READ   every read of a file of that name takes 200 ms
 *   PRELOAD_SLOW_STAT   where that is set, every look at an entry of a folder takes 200 ms
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { YEAR_S = 365 * 86400 };

static time_t jump(void)
{
    static int looks;
    return getenv("PRELOAD_CALENDAR") ? (looks++ % 2 ? YEAR_S : -YEAR_S) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    struct stat about;
    const char *asleep = getenv("PRELOAD_ASLEEP");
    int failed = (int)syscall(SYS_clock_gettime, clock, out);
    if (clock == CLOCK_REALTIME) out->tv_sec += jump();
    if (clock == CLOCK_BOOTTIME && asleep && stat(asleep, &about) == 0) out->tv_sec += 3600;
    return failed;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

int flock(int fd, int operation)
{
    const char *why = getenv("PRELOAD_NO_LOCKS");
    if (!why) return (int)syscall(SYS_flock, fd, operation);
    errno = atoi(why);
    return -1;
}

/* Whether the path of `fd` ends so, and holds `part`. */
static int leads_to(int fd, const char *end, const char *part)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1), own = (ssize_t)strlen(end);
    if (length <= own || memcmp(path + length - own, end, (size_t)own) != 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

static void wait_long(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

static void hang_where_told(int fd)
{
    const char *slow = getenv("PRELOAD_SLOW_READ");
    if (slow && leads_to(fd, slow, "")) wait_long();
    const char *stuck = getenv("PRELOAD_STUCK"), *read = getenv("PRELOAD_CTRL_C_READ");
    if (read && leads_to(fd, read, getenv("PRELOAD_CTRL_C_PART") ? "/.rue-" : "") &&
        unsetenv("PRELOAD_CTRL_C_READ") == 0)
        raise(SIGINT);
    if (!stuck || access(stuck, F_OK) != 0) return;
    if (leads_to(fd, ".jpg", "") && unlink(stuck) == 0)
        for (;;) pause();
}

int fstatat64(int folder, const char *restrict name, struct stat64 *restrict out, int flags)
{
    if (getenv("PRELOAD_SLOW_STAT")) wait_long();
    return (int)syscall(SYS_newfstatat, folder, name, out, flags);
}

ssize_t read(int fd, void *into, size_t bytes)
{
    hang_where_told(fd);
    return syscall(SYS_read, fd, into, bytes);
}

ssize_t pread(int fd, void *into, size_t bytes, off_t offset)
{
    const char *flipped = getenv("PRELOAD_FLIP");
    hang_where_told(fd);
    ssize_t got = syscall(SYS_pread64, fd, into, bytes, offset);
    if (flipped && got > 4096 && leads_to(fd, flipped, "/.rue-")) ((char *)into)[got - 1] ^= 1;
    return got;
}

ssize_t pread64(int fd, void *into, size_t bytes, off_t offset)
{
    return pread(fd, into, bytes, offset);
}

static int synced(long failed)
{
    static int calls;
    const char *last = getenv("PRELOAD_CTRL_C");
    if (last && ++calls == atoi(last)) raise(SIGINT);
    return (int)failed;
}

int fsync(int fd)
{
    return synced(syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    return synced(syscall(SYS_fdatasync, fd));
}
