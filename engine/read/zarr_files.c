#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "file_io.h"
#include "hash.h"
#include "zarr_store.h"

enum { METADATA_MAX = 16 << 20 };

int rue_zarr_open_file(int folder_fd, const char *name)
{
    char part[NAME_MAX + 1];
    int above = folder_fd, fd = -1;
    for (const char *slash; above >= 0; name = slash + 1) {
        slash = strchr(name, '/');
        size_t length = slash ? (size_t)(slash - name) : strlen(name);
        bool valid = length > 0 && length < sizeof part;
        snprintf(part, sizeof part, "%.*s", (int)length, name);
        if (!valid || strcmp(part, "..") == 0)
            fd = -1, errno = ENOENT;
        else
            fd = openat(above, part, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        int why = errno;
        if (above != folder_fd) close(above);
        errno = why;
        above = fd;
        if (!slash) break;
    }
    return fd;
}

rue_status rue_zarr_fail_file(rue_error *error, const char *path, const char *name)
{
    int why = errno;
    if (why == ELOOP)
        return rue_fail(error, RUE_DATA,
                        "%s/%s is a symbolic link, which is not followed: copy what it points to", path,
                        name);
    return rue_fail(error, rue_source_failure(why), "cannot read %s/%s: %s%s", path, name,
                    why ? strerror(why) : "the file ends", rue_advice(why));
}

rue_status rue_zarr_refuse_links(int folder_fd, const char *path, const char *name, const char *previous,
                                 rue_error *error)
{
    char part[PATH_MAX];
    struct stat info;
    size_t same = 0;
    while (name[same] && name[same] == previous[same]) same++;
    for (const char *slash = strchr(name + same, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        if (fstatat(folder_fd, part, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
            return errno = ELOOP, rue_zarr_fail_file(error, path, part);
    }
    return RUE_OK;
}

/* Reads the file `name` into `*out`, which the caller frees; a NUL follows its `*bytes`. `*out` is NULL if
 * the file does not exist. */
static rue_status read_text_file(int folder_fd, const char *path, const char *name, char **out, size_t *bytes,
                                 rue_error *error)
{
    struct stat info;
    *out = NULL;
    int fd = rue_zarr_open_file(folder_fd, name);
    int why = errno;
    if (fd < 0 && rue_zarr_refuse_links(folder_fd, path, name, "", error) != RUE_OK) return RUE_DATA;
    errno = why;
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? RUE_OK : rue_zarr_fail_file(error, path, name);
    rue_status status = RUE_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > METADATA_MAX) {
        status = rue_fail(error, RUE_DATA, "%s/%s is not a regular file of at most %d bytes", path, name,
                          METADATA_MAX);
    } else {
        *bytes = (size_t)info.st_size;
        *out = malloc(*bytes + 1);
        if (!*out)
            status = rue_fail_memory(error, "a file", *bytes);
        else if (!rue_read_at(fd, *out, *bytes, 0))
            status = rue_zarr_fail_file(error, path, name);
        else
            (*out)[*bytes] = 0;
    }
    close(fd);
    if (status != RUE_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

rue_status rue_zarr_read_json(int folder_fd, const char *path, const char *name, json_t **out,
                              uint64_t *digest, rue_error *error)
{
    char *text;
    size_t bytes = 0;
    json_error_t fault;
    *out = NULL;
    rue_status status = read_text_file(folder_fd, path, name, &text, &bytes, error);
    if (status != RUE_OK || !text) return status;
    *digest = rue_hash(RUE_HASH_START, text, bytes);
    *out = rue_zarr_load_json(text, bytes, &fault);
    free(text);
    if (*out) return RUE_OK;
    bool twice = json_error_code(&fault) == json_error_duplicate_key;
    return rue_fail(error, RUE_DATA, "%s/%s %s in line %d; write it again", path, name,
                    twice ? "has a key twice," : "is not valid JSON,", fault.line);
}

/* Reads zarr.json of version 3, or .zarray and .zattrs. `*metadata` is NULL if there is no array. */
static rue_status read_metadata(int folder_fd, const char *path, const char *name, json_t **metadata,
                                json_t **attributes, uint64_t *digest, rue_error *error)
{
    char file[PATH_MAX];
    uint64_t unused;
    snprintf(file, sizeof file, "%szarr.json", name);
    rue_status status = rue_zarr_read_json(folder_fd, path, file, metadata, digest, error);
    const char *type = json_string_value(json_object_get(*metadata, "node_type"));
    *attributes = json_incref(json_object_get(*metadata, "attributes"));
    const char *field = rue_zarr_unknown_field(*metadata);
    if (field)
        status = rue_fail(error, RUE_DATA,
                          "%s/%s has the field '%.40s', which is not supported: write it without this field",
                          path, file, field);
    if (type && strcmp(type, "group") == 0) {
        json_decref(*metadata);
        *metadata = NULL;
    } else if (status == RUE_OK && !*metadata) {
        snprintf(file, sizeof file, "%s.zarray", name);
        status = rue_zarr_read_json(folder_fd, path, file, metadata, digest, error);
        snprintf(file, sizeof file, "%s.zattrs", name);
        if (*metadata) status = rue_zarr_read_json(folder_fd, path, file, attributes, &unused, error);
    }
    return status;
}

rue_status rue_zarr_describe(int folder_fd, const char *path, const char *name, bool *found,
                             struct rue_zarr_array *out, rue_error *error)
{
    char array[PATH_MAX];
    json_t *metadata, *attributes;
    rue_error why = {0};
    uint64_t digest;
    int length = *name ? (int)strlen(name) - 1 : 0;
    *out = (struct rue_zarr_array){0};
    rue_status status = read_metadata(folder_fd, path, name, &metadata, &attributes, &digest, error);
    *found = metadata != NULL;
    if (status == RUE_OK && *found) {
        snprintf(array, sizeof array, "/%.*s", length, name);
        status = rue_zarr_parse(strrchr(array, '/') + 1, metadata, attributes, out, &why);
        out->digest = digest;
        if (status != RUE_OK)
            status = rue_fail(error, status, "%s%s %s", path, length ? array : "", why.message);
    }
    json_decref(metadata);
    json_decref(attributes);
    return status;
}
