#include "image_name.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

bool rue_image_has_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg") || !strcasecmp(dot, ".jpe"));
}

bool rue_image_name_is_safe(const char *path)
{
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || part[0] == '.') return false; /* hidden files are no items */
        part += length;
        if (!*part) return part - path < PATH_MAX / 2;
    }
}
