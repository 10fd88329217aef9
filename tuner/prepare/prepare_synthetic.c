#include "prepare.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "interrupt.h"
#include "machine.h"
#include "part.h"
#include "synthetic.h"

enum { WORKERS_MAX = 256 };

struct job {
    const char *whole, *folder; /* the destination, and the temporary folder */
    uint64_t count, seed;
    atomic_uint_fast64_t next, done, bytes;
    atomic_bool failed;
    pthread_mutex_t lock; /* guards error */
    rue_error error;
};

/* The first photo of a class makes the folder of the class. */
static rue_status write_photo(const struct job *job, uint64_t index, size_t *bytes, rue_error *error)
{
    char name[64], path[RUE_PART_BYTES + 80];
    unsigned char *jpeg = NULL;
    rue_status status = rue_synthetic_photo(job->seed, index, &jpeg, bytes, error);
    if (status != RUE_OK) return status;
    rue_synthetic_name(index, name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", job->folder, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    FILE *file = NULL;
    if (mkdir(path, 0777) == 0 || errno == EEXIST) *slash = '/', file = fopen(path, "wxe");
    int why = file && fwrite(jpeg, 1, *bytes, file) == *bytes ? 0 : errno;
    if (file && fclose(file) != 0 && !why) why = errno;
    if (why)
        status = rue_fail(error, RUE_STORE, "cannot write %s/%s: %s%s", job->whole, name, strerror(why),
                          rue_advice(why));
    free(jpeg);
    return status;
}

static void *make_photos(void *argument)
{
    struct job *job = argument;
    uint64_t index;
    while (!atomic_load(&job->failed) && (index = atomic_fetch_add(&job->next, 1)) < job->count) {
        rue_error error = {0};
        size_t bytes = 0;
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK)
            rue_fail(&error, status, "interrupted; nothing was written");
        else
            status = write_photo(job, index, &bytes, &error);
        if (status != RUE_OK) {
            pthread_mutex_lock(&job->lock);
            rue_fail(&job->error, status, "%s", error.message);
            pthread_mutex_unlock(&job->lock);
            atomic_store(&job->failed, true);
        }
        atomic_fetch_add(&job->bytes, bytes);
        atomic_fetch_add(&job->done, 1);
    }
    return NULL;
}

static rue_status run_workers(struct job *job, struct rue_progress *progress, rue_error *error)
{
    pthread_t threads[WORKERS_MAX];
    int requested = rue_machine_read().usable_cpus, started = 0;
    if (requested > WORKERS_MAX) requested = WORKERS_MAX;
    while (started < requested && pthread_create(&threads[started], NULL, make_photos, job) == 0) started++;
    if (started == 0) make_photos(job);
    while (progress && started && !atomic_load(&job->failed) && atomic_load(&job->done) < job->count) {
        rue_progress_count(progress, "making photos", atomic_load(&job->done), job->count);
        rue_clock_sleep_until(rue_clock_now_ns() + 20000000);
    }
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (job->error.status == RUE_OK) return RUE_OK;
    return rue_fail(error, job->error.status, "%s", job->error.message);
}

rue_status rue_prepare_synthetic(uint64_t count, uint64_t seed, const char *path,
                                 struct rue_progress *progress, struct rue_prepared *out, rue_error *error)
{
    char whole[PATH_MAX], part[RUE_PART_BYTES], folder[RUE_PART_BYTES + 8];
    struct stat info;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length + 32 >= sizeof whole) return rue_fail(error, RUE_USAGE, "the path %.64s... is too long", path);
    snprintf(whole, sizeof whole, "%.*s", (int)length, path);
    rue_part_sweep(whole); /* a run killed after the rename did not remove its folder */
    if (lstat(whole, &info) == 0)
        return rue_fail(error, RUE_USAGE, "%s exists: remove it, or give another name", whole);
    struct job job = {
        .whole = whole, .folder = folder, .count = count, .seed = seed, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t start = rue_clock_now_ns();
    rue_interrupt_defer(true);
    int fd = rue_part_open(whole, part), why = errno;
    if (fd < 0) rue_interrupt_defer(false);
    if (fd < 0)
        return rue_fail(error, RUE_STORE, "cannot create %s: %s%s", whole, strerror(why),
                        rue_advice_or(why, "; write to another folder"));
    snprintf(folder, sizeof folder, "%s/data", part);
    rue_status status = RUE_OK;
    if (mkdir(folder, 0777) != 0)
        status = rue_fail(error, RUE_STORE, "%s: cannot create %s: %s%s", whole, folder, strerror(errno),
                          rue_advice(errno));
    if (status == RUE_OK) status = run_workers(&job, progress, error);
    if (status == RUE_OK) status = rue_part_publish(folder, whole, false, error);
    close(fd);
    rue_part_remove(part);
    rue_interrupt_defer(false);
    *out = (struct rue_prepared){
        .images = count, .bytes_after = atomic_load(&job.bytes), .elapsed_ns = rue_clock_now_ns() - start};
    return status;
}
