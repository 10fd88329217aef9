#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "part.h"

/* Advice for reports, in addition to advice.h. */
static const struct {
    int number;
    const char *advice;
} advices[] = {
    {EACCES, "; make the folder writable, or choose another one"},
    {EPERM, "; make the folder writable, or choose another one"},
    {EROFS, "; the file system is read-only: choose another folder"},
    {ENOENT, "; create the folder first"},
    {ENOTDIR, "; choose a folder, not a file"},
    {EISDIR, "; a folder has this name: remove it, or choose another folder"},
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

static rue_status make_path(const struct rue_output *output, char path[PATH_MAX], rue_error *error)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", output->folder, output->name);
    return length < PATH_MAX - 32 ? RUE_OK : fail_store(error, output->folder, ENAMETOOLONG);
}

static bool begins_with(const char *path, const char *mark)
{
    char found[64];
    size_t expected = strlen(mark);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool same = expected <= sizeof found && pread(fd, found, expected, 0) == (ssize_t)expected &&
                memcmp(found, mark, expected) == 0;
    close(fd);
    return same;
}

/* RUE_STORE: another file, or something that is not a regular file, has this name. */
static rue_status check_output(const struct rue_output *output, rue_error *error)
{
    char path[PATH_MAX];
    struct stat about;
    rue_status status = make_path(output, path, error);
    if (status != RUE_OK || lstat(path, &about) != 0) return status; /* the write reports the error */
    if (S_ISDIR(about.st_mode)) return fail_store(error, path, EISDIR);
    if (S_ISREG(about.st_mode) && begins_with(path, output->mark)) return RUE_OK;
    return rue_fail(error, RUE_STORE,
                    "%s exists, and rue did not write it: move it away, or choose another folder", path);
}

typedef rue_status (*renderer)(const void *context, FILE *stream, rue_error *error);

static rue_status render_to(renderer render, const void *context, const char *temporary, const char *path,
                            rue_error *error)
{
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

rue_status rue_output_write(const struct rue_output *output, renderer render, const void *context,
                            rue_error *error)
{
    char path[PATH_MAX], beside[PATH_MAX], part[RUE_PART_BYTES], temporary[RUE_PART_BYTES + 8];
    rue_status status = make_path(output, path, error);
    if (status == RUE_OK) status = check_output(output, error);
    if (status != RUE_OK) return status;
    /* One name for all files of the folder, so that each write removes the leftovers of any killed write. */
    snprintf(beside, sizeof beside, "%s/output", output->folder);
    int fd = rue_part_open(beside, part);
    if (fd < 0) return fail_store(error, path, errno);
    snprintf(temporary, sizeof temporary, "%s/data", part);
    status = render_to(render, context, temporary, path, error);
    if (status == RUE_OK) status = rue_part_publish(temporary, path, true, error);
    close(fd);
    rue_part_remove(part);
    return status;
}

/* ---- a file that an option names ---- */

static rue_status split_path(const char *option, const char *path, char folder[PATH_MAX], char name[PATH_MAX],
                             struct rue_output *out, rue_error *error)
{
    size_t length = strlen(path);
    if (length >= PATH_MAX) return rue_fail(error, RUE_USAGE, "%s: the path is too long", option);
    if (!length || path[length - 1] == '/')
        return rue_fail(error, RUE_USAGE, "%s: '%.80s' does not name a file", option, path);
    memcpy(folder, path, length + 1);
    memcpy(name, path, length + 1);
    out->folder = dirname(folder);
    out->name = basename(name);
    return RUE_OK;
}

/* Nothing is replaced there. */
static bool is_pipe_or_device(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && (S_ISCHR(about.st_mode) || S_ISFIFO(about.st_mode));
}

static bool is_standard_output(const char *path)
{
    return strcmp(path, "/dev/stdout") == 0;
}

rue_status rue_output_check_file(const char *option, const char *path, const char *mark, rue_error *error)
{
    char folder[PATH_MAX], name[PATH_MAX];
    struct rue_output output = {.mark = mark};
    if (is_standard_output(path) || is_pipe_or_device(path)) return RUE_OK;
    rue_status status = split_path(option, path, folder, name, &output, error);
    if (status != RUE_OK) return status;
    if (access(output.folder, W_OK | X_OK) == 0) return check_output(&output, error);
    return rue_fail(error, RUE_STORE, "%s: cannot write %s: %s; give a file in an existing folder", option,
                    path, strerror(errno));
}

static rue_status write_device(const char *path, renderer render, const void *context, rue_error *error)
{
    FILE *stream = is_standard_output(path) ? stdout : fopen(path, "we");
    if (!stream) return fail_store(error, path, errno);
    rue_error why = {0};
    errno = 0;
    rue_status status = render(context, stream, &why);
    if (fflush(stream) != 0 && status == RUE_OK) status = RUE_STORE;
    int number = errno;
    if (stream != stdout) fclose(stream);
    if (status == RUE_STORE && number == EPIPE) return RUE_OK; /* the reader has enough */
    if (status == RUE_STORE) return fail_store(error, path, number ? number : EIO);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s: %s", path, why.message);
}

rue_status rue_output_write_file(const char *option, const char *path, const char *mark, renderer render,
                                 const void *context, rue_error *error)
{
    char folder[PATH_MAX], name[PATH_MAX];
    struct rue_output output = {.mark = mark};
    rue_status status = rue_output_check_file(option, path, mark, error);
    if (status != RUE_OK) return status;
    if (is_standard_output(path) || is_pipe_or_device(path))
        return write_device(path, render, context, error);
    status = split_path(option, path, folder, name, &output, error);
    return status == RUE_OK ? rue_output_write(&output, render, context, error) : status;
}

/* ---- reports ---- */

struct rendering {
    const struct rue_report *report;
    const struct rue_findings *findings;
};

static rue_status render_report(const void *context, FILE *stream, rue_error *error)
{
    static const struct rue_report_style plain = {0};
    const struct rendering *rendering = context;
    return rendering->report->render(rendering->findings, &plain, stream, error);
}

struct rue_output rue_report_output(const struct rue_report *report, const char *folder)
{
    return (struct rue_output){.folder = folder, .name = report->file, .mark = report->mark};
}

static void append_name(char *list, size_t bytes, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", word);
}

rue_status rue_output_write_reports(const struct rue_report *const *reports,
                                    const struct rue_findings *findings, const char *folder, char *written,
                                    size_t bytes, rue_error *error)
{
    rue_error first = {0};
    char more[256] = "";
    written[0] = 0;
    for (; *reports; reports++) {
        if (!(*reports)->file) continue;
        const struct rue_output output = rue_report_output(*reports, folder);
        const struct rendering rendering = {*reports, findings};
        rue_error why = {0};
        if (rue_output_write(&output, render_report, &rendering, &why) == RUE_OK)
            append_name(written, bytes, (*reports)->file);
        else if (first.status == RUE_OK)
            first = why;
        else
            append_name(more, sizeof more, (*reports)->file);
    }
    if (first.status == RUE_OK) return RUE_OK;
    return rue_fail(error, first.status, "%s%s%s", first.message, *more ? "; also not written: " : "", more);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

rue_status rue_output_check_reports(const struct rue_report *const *reports, const char *folder,
                                    const char *input, rue_error *error)
{
    rue_status status = RUE_OK;
    for (; status == RUE_OK && reports && *reports; reports++) {
        char path[PATH_MAX];
        const struct rue_output output = rue_report_output(*reports, folder);
        if (!output.name) continue;
        status = check_output(&output, error);
        if (status != RUE_OK || !input) continue;
        snprintf(path, sizeof path, "%s/%s", folder, output.name);
        if (is_same_file(path, input))
            status =
                rue_fail(error, RUE_STORE,
                         "%s is the input table, and a report would replace it: choose another folder", path);
    }
    return status;
}
