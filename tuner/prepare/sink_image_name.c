#include "sink_image_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "files.h"

void rue_sink_image_name(const struct rue_sink_options *options, const struct rue_item *item, char *out,
                         size_t bytes)
{
    bool classed =
        item->label >= 0 && (size_t)item->label < options->class_count && options->classes[item->label][0];
    const char *class = classed ? options->classes[item->label] : "";
    const char *base = strrchr(item->key, '/') ? strrchr(item->key, '/') + 1 : item->key;
    size_t length = strlen(class);
    bool told = !classed || (strncmp(item->key, class, length) == 0 && item->key[length] == '/');
    const char *key = told ? item->key : base;
    snprintf(out, bytes, "%s%s%s%s", told ? "" : class, told ? "" : "/", key,
             rue_files_is_jpeg(base) ? "" : ".jpg");
}

bool rue_sink_name_is_safe(const char *path)
{
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || part[0] == '.') return false; /* hidden files are no items */
        part += length;
        if (!*part) return part - path < PATH_MAX / 2;
    }
}
