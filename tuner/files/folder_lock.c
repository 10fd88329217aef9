#include "folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "interrupt.h"

/* The process that has the lock; 0: unknown. */
static int find_holder(int fd)
{
    struct stat about;
    FILE *locks = fstat(fd, &about) == 0 ? fopen("/proc/locks", "re") : NULL;
    char line[256];
    int found = 0, pid;
    unsigned long long inode;
    while (locks && !found && fgets(line, sizeof line, locks))
        if (sscanf(line, "%*u: FLOCK %*s WRITE %d %*x:%*x:%llu", &pid, &inode) == 2 && pid > 0 &&
            inode == about.st_ino)
            found = pid;
    if (locks) fclose(locks);
    return found;
}

static rue_status fail_busy(const char *folder, const char *option, int fd, rue_error *error)
{
    char who[32] = "";
    int pid = find_holder(fd);
    if (pid) snprintf(who, sizeof who, ", process %d", pid);
    return rue_fail(error, RUE_STORE,
                    "another rue uses %s%s; wait until it ends, or choose another folder with %s", folder,
                    who, option);
}

static rue_status lock_folder(const char *folder, const char *option, int *out, rue_error *error)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return rue_fail(error, RUE_STORE, "cannot open the folder %s: %s%s%s", folder, strerror(errno),
                        rue_advice_or(errno, "; choose another folder with "),
                        *rue_advice(errno) ? "" : option);
    int failed;
    while ((failed = flock(fd, LOCK_EX | LOCK_NB)) && errno == EINTR) continue;
    if (!failed) return *out = fd, RUE_OK;
    int why = errno;
    rue_status status = why == EWOULDBLOCK
                            ? fail_busy(folder, option, fd, error)
                            : rue_fail(error, RUE_STORE,
                                       "cannot lock the folder %s: %s; its file system may not "
                                       "support locks: choose a folder on a local disk with %s",
                                       folder, strerror(why), option);
    close(fd);
    return status;
}

bool rue_folder_is_locked(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* flock() would lock the folder for a moment, so it is tried only if the kernel lists a lock on this
     * inode number. */
    bool locked = fd >= 0 && find_holder(fd) != 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (fd >= 0) close(fd);
    return locked;
}

rue_status rue_folder_make(char *path, const char *option, rue_error *error)
{
    for (char *at = path + 1;; at++) {
        char kept = *at;
        if (kept && kept != '/') continue;
        *at = 0;
        int failed = mkdir(path, 0777);
        int why = errno;
        *at = kept;
        if (failed && why != EEXIST)
            return rue_fail(error, RUE_STORE, "cannot create %s: %s; choose another folder with %s", path,
                            strerror(why), option);
        if (!kept) return RUE_OK;
    }
}

rue_status rue_folder_acquire(char *folder, const char *option, int *lock, rue_error *error)
{
    rue_interrupt_defer(true);
    rue_status status = rue_folder_make(folder, option, error);
    if (status == RUE_OK) status = lock_folder(folder, option, lock, error);
    if (status != RUE_OK) rue_interrupt_defer(false);
    return status;
}

void rue_folder_release(int lock)
{
    if (lock < 0) return;
    close(lock);
    rue_interrupt_defer(false);
}
