#include "file_kind.h"

#include <string.h>

static const struct {
    size_t offset, bytes;
    const char *magic, *name;
} looks[] = {
    {0, 4, "\x89PNG", "a PNG file"},      {0, 4, "GIF8", "a GIF file"},
    {8, 4, "WEBP", "a WebP file"},        {4, 8, "ftypavif", "an AVIF file"},
    {4, 7, "ftyphei", "a HEIC file"},     {4, 7, "ftypmif", "a HEIC file"},
    {0, 4, "II*\0", "a TIFF file"},       {0, 4, "MM\0*", "a TIFF file"},
    {4, 4, "jP  ", "a JPEG 2000 file"},   {0, 4, "\xFF\x4F\xFF\x51", "a JPEG 2000 file"},
    {0, 2, "\xFF\x0A", "a JPEG XL file"}, {4, 4, "JXL ", "a JPEG XL file"},
    {0, 2, "BM", "a BMP file"},           {0, 4, "%PDF", "a PDF file"},
    {0, 2, "\x1F\x8B", "a gzip file"},    {0, 4, "PK\3\4", "a ZIP file"},
    {0, 9, "<!DOCTYPE", "an HTML page"},  {0, 9, "<!doctype", "an HTML page"},
    {0, 5, "<html", "an HTML page"},
};

const char *rue_file_kind(const void *data, size_t bytes)
{
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (bytes >= looks[i].offset + looks[i].bytes &&
            memcmp((const char *)data + looks[i].offset, looks[i].magic, looks[i].bytes) == 0)
            return looks[i].name;
    return NULL;
}
