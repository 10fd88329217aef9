#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "folder_lock.h"
#include "temporary_folder.h"

TestSuite(folder_lock, .init = temporary_folder_make, .fini = temporary_folder_remove);

static int open_folder(void)
{
    return open(temporary_path("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Runs `body` in a child until it is killed, and waits for its first sign of life. */
static pid_t start(void (*body)(int fd))
{
    int ready[2];
    char byte;
    cr_assert(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body(ready[1]);
        _exit(1);
    }
    cr_assert(child > 0 && read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void hold(int ready)
{
    if (flock(open_folder(), LOCK_EX) != 0 || write(ready, "", 1) != 1) return;
    for (;;) pause();
}

static rue_status acquire(const char *name, int *lock, rue_error *error)
{
    char path[TEMPORARY_PATH_BYTES];
    *error = (rue_error){0};
    snprintf(path, sizeof path, "%s", temporary_path(name));
    return rue_folder_acquire(path, "--out", lock, error);
}

Test(folder_lock, a_lock_of_another_process_is_refused_with_its_number)
{
    pid_t holder = start(hold);
    rue_error error;
    char named[32];
    int lock;
    cr_assert_eq(acquire(".", &lock, &error), RUE_STORE);
    snprintf(named, sizeof named, "process %d", (int)holder);
    cr_assert(strstr(error.message, named) && strstr(error.message, "--out"), "%s", error.message);
    end(holder);
    cr_assert_eq(acquire(".", &lock, &error), RUE_OK, "%s", error.message);
    rue_folder_release(lock);
}

Test(folder_lock, makes_a_folder_but_not_in_place_of_a_file)
{
    rue_error error;
    int lock;
    cr_assert_eq(acquire("a/b", &lock, &error), RUE_OK, "%s", error.message);
    cr_assert(rue_folder_is_locked(temporary_path("a/b")));
    rue_folder_release(lock);
    temporary_text("file", "");
    cr_assert_eq(acquire("file", &lock, &error), RUE_STORE);
    cr_assert(strstr(error.message, "file"), "%s", error.message);
}
