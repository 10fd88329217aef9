#include "json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 << 20 };

/* O_NONBLOCK keeps a FIFO in the file's place from blocking. */
static rue_status open_json_file(const char *path, const char *advice, int *out, rue_error *error)
{
    struct stat info;
    *out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*out < 0 || fstat(*out, &info) != 0)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; %s", path, strerror(errno), advice);
    if (!S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
        return rue_fail(error, RUE_DATA, "%s is not a regular file of at most %d MiB; %s", path,
                        FILE_BYTES_MAX >> 20, advice);
    return RUE_OK;
}

rue_status rue_json_file_read(const char *path, const char *advice, json_t **out, rue_error *error)
{
    int file;
    json_error_t why;
    *out = NULL;
    rue_status status = open_json_file(path, advice, &file, error);
    if (status == RUE_OK && !(*out = json_loadfd(file, JSON_REJECT_DUPLICATES, &why)))
        status =
            rue_fail(error, RUE_DATA, "%s, line %d is not JSON: %s; %s", path, why.line, why.text, advice);
    if (file >= 0) close(file);
    return status;
}
