#include "json_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 << 20 };

/* O_NONBLOCK keeps a FIFO in the file's place from blocking. */
json_t *rue_json_file_load(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat about;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    bool fit = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= FILE_BYTES_MAX;
    json_t *root = fit ? json_loadfd(fd, 0, NULL) : NULL;
    close(fd);
    return root;
}
