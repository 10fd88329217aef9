#include "file_kind.h"

#include <string.h>

static const struct look {
    size_t offset, bytes;
    const char *magic, *name;
    enum rue_image_kind kind;
} looks[] = {
    {0, 2, "\xFF\xD8", "a JPEG file", RUE_IMAGE_JPEG},
    {0, 4, "\x89PNG", "a PNG file", RUE_IMAGE_PNG},
    {8, 4, "WEBP", "a WebP file", RUE_IMAGE_WEBP},
    {0, 4, "GIF8", "a GIF file", RUE_IMAGE_GIF},
    {0, 2, "BM", "a BMP file", RUE_IMAGE_BMP},
    {4, 8, "ftypavif", "an AVIF file", RUE_IMAGE_NONE},
    {4, 7, "ftyphei", "a HEIC file", RUE_IMAGE_NONE},
    {4, 7, "ftypmif", "a HEIC file", RUE_IMAGE_NONE},
    {0, 4, "II*\0", "a TIFF file", RUE_IMAGE_NONE},
    {0, 4, "MM\0*", "a TIFF file", RUE_IMAGE_NONE},
    {4, 4, "jP  ", "a JPEG 2000 file", RUE_IMAGE_NONE},
    {0, 4, "\xFF\x4F\xFF\x51", "a JPEG 2000 file", RUE_IMAGE_NONE},
    {0, 2, "\xFF\x0A", "a JPEG XL file", RUE_IMAGE_NONE},
    {4, 4, "JXL ", "a JPEG XL file", RUE_IMAGE_NONE},
    {0, 4, "%PDF", "a PDF file", RUE_IMAGE_NONE},
    {0, 2, "\x1F\x8B", "a gzip file", RUE_IMAGE_NONE},
    {0, 4, "PK\3\4", "a ZIP file", RUE_IMAGE_NONE},
    {0, 9, "<!DOCTYPE", "an HTML page", RUE_IMAGE_NONE},
    {0, 9, "<!doctype", "an HTML page", RUE_IMAGE_NONE},
    {0, 5, "<html", "an HTML page", RUE_IMAGE_NONE},
    {0, 4, "<svg", "an SVG file", RUE_IMAGE_NONE},
};

static const struct look *find_look(const void *data, size_t bytes)
{
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (bytes >= looks[i].offset + looks[i].bytes &&
            memcmp((const char *)data + looks[i].offset, looks[i].magic, looks[i].bytes) == 0)
            return &looks[i];
    return NULL;
}

enum rue_image_kind rue_image_kind(const void *data, size_t bytes)
{
    const struct look *look = find_look(data, bytes);
    return look ? look->kind : RUE_IMAGE_NONE;
}

const char *rue_file_kind(const void *data, size_t bytes)
{
    const struct look *look = find_look(data, bytes);
    return look ? look->name : NULL;
}
