#include "file_identity.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source_failure.h"

struct rue_file_identity rue_file_identity_of(const struct stat *about)
{
    return (struct rue_file_identity){
        .bytes = (uint64_t)about->st_size,
        .inode = (uint64_t)about->st_ino,
        .changed_ns = about->st_mtim.tv_sec * INT64_C(1000000000) + about->st_mtim.tv_nsec,
        .touched_ns = about->st_ctim.tv_sec * INT64_C(1000000000) + about->st_ctim.tv_nsec,
    };
}

const char *rue_file_identity_change(const struct rue_file_identity *was, const struct stat *about)
{
    const struct rue_file_identity is = rue_file_identity_of(about);
    if (about->st_nlink == 0 || is.inode != was->inode) return "was deleted or replaced";
    return is.bytes != was->bytes || is.changed_ns != was->changed_ns ? "changed" : NULL;
}

rue_status rue_file_identity_check(const struct rue_file_identity *was, const char *path, rue_error *error)
{
    struct stat about;
    const char *what = "was deleted";
    if (stat(path, &about) == 0)
        what = rue_file_identity_change(was, &about);
    else if (errno != ENOENT)
        return rue_fail_open(error, path);
    if (!what) return RUE_OK;
    return rue_fail(error, RUE_DATA, "%s %s since it was opened: leave the data alone while rue runs", path,
                    what);
}
