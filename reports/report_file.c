#include "report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"

/* What to do where a report cannot be written, beside what is true everywhere (advice.h). */
static const struct {
    int number;
    const char *advice;
} advices[] = {
    {EACCES, "; make the folder writable, or choose another one"},
    {EPERM, "; make the folder writable, or choose another one"},
    {EROFS, "; the file system is read-only: choose another folder"},
    {ENOENT, "; create the folder first"},
    {ENOTDIR, "; choose a folder, not a file"},
    {EISDIR, "; a folder is in the way: remove it, or choose another folder"},
    {ENAMETOOLONG, "; choose a folder with a shorter path"},
};

static rue_status fail_store(rue_error *error, const char *path, int number)
{
    const char *advice = "; check the disk, or choose another folder";
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (advices[i].number == number) advice = advices[i].advice;
    return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", path, strerror(number),
                    rue_advice_or(number, advice));
}

rue_status rue_report_finish(FILE *stream, rue_error *error)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write the report: %s",
                    errno ? strerror(errno) : "an earlier write failed");
}

/* Puts the name of the new file into its folder on the disk. Some file systems refuse to: then it is as safe
 * as they make it. */
static rue_status sync_folder(const char *folder, rue_error *error)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES ? RUE_OK : fail_store(error, folder, errno);
    int number = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
    close(fd);
    return number ? fail_store(error, folder, number) : RUE_OK;
}

typedef rue_status (*renderer)(const void *context, FILE *stream, rue_error *error);

static rue_status render_to(renderer render, const void *context, const char *part, const char *path,
                            rue_error *error)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (!stream) {
        int number = errno;
        if (fd >= 0) close(fd);
        return fail_store(error, path, number);
    }
    rue_error why = {0};
    errno = 0;
    rue_status status = render(context, stream, &why);
    int number = errno;
    if (status == RUE_OK && fsync(fd) != 0) status = RUE_STORE, number = errno;
    if (fclose(stream) != 0 && status == RUE_OK) status = RUE_STORE, number = errno;
    if (status == RUE_STORE) return fail_store(error, path, number ? number : EIO);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s: %s", path, why.message);
}

rue_status rue_report_write_file(const char *folder, const char *file, renderer render, const void *context,
                                 rue_error *error)
{
    char path[PATH_MAX], part[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    int part_length = snprintf(part, sizeof part, "%s/.%s.%ld.part", folder, file, (long)getpid());
    if (length >= (int)sizeof path || part_length >= (int)sizeof part)
        return fail_store(error, folder, ENAMETOOLONG);

    rue_status status = render_to(render, context, part, path, error);
    if (status == RUE_OK && rename(part, path) != 0) status = fail_store(error, path, errno);
    if (status == RUE_OK) return sync_folder(folder, error);
    unlink(part);
    return status;
}
