/* JPEGs made in memory, for the tests that decode them. */
#ifndef RUE_JPEG_FIXTURE_H
#define RUE_JPEG_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct jpeg_file {
    unsigned char *data;
    unsigned long bytes;
};

/* What to encode; zero is a 4:2:0 baseline RGB image. */
struct jpeg_recipe {
    unsigned width, height;
    J_COLOR_SPACE colours; /* JCS_UNKNOWN stands for JCS_RGB */
    bool progressive, arithmetic, without_tables;
    unsigned restart_rows;
    const unsigned char *flat; /* the levels of every pixel, kept exactly; NULL: the pattern */
};

static inline unsigned jpeg_fixture_channels(J_COLOR_SPACE colours)
{
    return colours == JCS_GRAYSCALE ? 1 : colours == JCS_CMYK ? 4 : 3;
}

/* A gradient under a chequered pattern; free the data. */
static inline struct jpeg_file jpeg_make(struct jpeg_recipe recipe)
{
    struct jpeg_file file = {0};
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct encoder = {.err = jpeg_std_error(&errors)};
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &file.data, &file.bytes);
    encoder.image_width = recipe.width;
    encoder.image_height = recipe.height;
    encoder.in_color_space = recipe.colours == JCS_UNKNOWN ? JCS_RGB : recipe.colours;
    encoder.input_components = (int)jpeg_fixture_channels(encoder.in_color_space);
    jpeg_set_defaults(&encoder);
    if (recipe.progressive) jpeg_simple_progression(&encoder);
    if (recipe.flat) jpeg_set_quality(&encoder, 100, TRUE);
    encoder.arith_code = recipe.arithmetic;
    encoder.restart_in_rows = (int)recipe.restart_rows;
    if (recipe.without_tables) jpeg_suppress_tables(&encoder, TRUE);
    jpeg_start_compress(&encoder, !recipe.without_tables);
    unsigned channels = (unsigned)encoder.input_components;
    unsigned char *row = malloc((size_t)recipe.width * channels);
    for (unsigned y = 0; y < recipe.height; y++) {
        for (unsigned i = 0; i < recipe.width * channels; i++)
            row[i] = recipe.flat ? recipe.flat[i % channels]
                                 : (unsigned char)(i * 200 / (recipe.width * channels) +
                                                   (i / 7 + y / 5) % 3 * 20 + y % 16);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    free(row);
    return file;
}

/* The file with its last scan repeated until it has `scans` of them (it has fewer); frees the old data. */
static inline struct jpeg_file jpeg_repeat_scans(struct jpeg_file file, unsigned scans)
{
    size_t at = 0, has = 0;
    for (size_t i = 0; i + 1 < file.bytes; i++)
        if (file.data[i] == 0xFF && file.data[i + 1] == 0xDA) at = i, has++;
    size_t kept = file.bytes - 2, scan_bytes = kept - at; /* the end marker comes last again */
    if (has == 0 || has > scans) abort();
    struct jpeg_file longer = {.bytes = file.bytes + (scans - has) * scan_bytes};
    longer.data = malloc(longer.bytes);
    memcpy(longer.data, file.data, kept);
    for (size_t end = kept; end < longer.bytes - 2; end += scan_bytes)
        memcpy(longer.data + end, file.data + at, scan_bytes);
    longer.data[longer.bytes - 2] = 0xFF;
    longer.data[longer.bytes - 1] = JPEG_EOI;
    free(file.data);
    return longer;
}

#endif
