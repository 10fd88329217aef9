/* Decodes JPEGs one after another with one decoder. On standard input: 4 bytes of length (in this machine's
 * order) and the file. On standard output: three such numbers and then the RGB rows (0, width, height) or the
 * reason (the status's exit code, length, 0). A tool of tests/odd_jpegs.py, not a test. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg.h"
#include "transform.h"

enum { STRIP_ROWS = 16 };

struct answer {
    uint32_t status, width, height;
};

static void put(const void *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, stdout) != bytes) exit(1);
}

/* Without the fourth bytes. */
static void pack_rgb(uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) memmove(pixels + 3 * i, pixels + RUE_JPEG_PIXEL_BYTES * i, 3);
}

static rue_status decode_rows(struct rue_jpeg *jpeg, struct rue_jpeg_size size, uint8_t *rgb,
                              rue_error *error)
{
    size_t stride = (size_t)size.width * RUE_JPEG_PIXEL_BYTES;
    uint8_t *strip = calloc(STRIP_ROWS, stride);
    if (!strip) exit(1);
    rue_status status = RUE_OK;
    for (uint32_t y = 0; y < size.height && status == RUE_OK; y += STRIP_ROWS) {
        uint32_t count = size.height - y < STRIP_ROWS ? size.height - y : STRIP_ROWS;
        status = rue_jpeg_rows(jpeg, count, strip, stride, error);
        pack_rgb(strip, (size_t)count * size.width);
        memcpy(rgb + (size_t)y * size.width * 3, strip, (size_t)count * size.width * 3);
    }
    free(strip);
    return status == RUE_OK ? rue_jpeg_end(jpeg, error) : status;
}

/* The transform decodes no more than its crop needs, and must come to the same verdict. */
static void check_verdict(const void *data, size_t bytes, rue_status status)
{
    static struct rue_transform *transform;
    static uint8_t levels[RUE_TENSOR_ITEMS];
    rue_error error = {0};
    if (!transform &&
        rue_transform_open(RUE_MAX_PIXELS_DEFAULT, RUE_DECODE_EXACT, &transform, NULL) != RUE_OK)
        exit(1);
    rue_status other = rue_transform_jpeg(transform, data, bytes, RUE_UINT8, levels, &error);
    if (other == status) return;
    fprintf(stderr, "the transform's verdict is %d, the decoder's %d: %s\n", other, status, error.message);
    exit(1);
}

static void answer(struct rue_jpeg *jpeg, const void *data, size_t bytes)
{
    rue_error error = {0};
    struct rue_jpeg_size size = {0};
    uint8_t *rgb = NULL;
    rue_status status = rue_jpeg_begin(jpeg, data, bytes, &size, &error);
    size_t rgb_bytes = (size_t)size.width * size.height * 3;
    if (status == RUE_OK) {
        rgb = malloc(rgb_bytes);
        if (!rgb) exit(1);
        status = decode_rows(jpeg, size, rgb, &error);
    }
    check_verdict(data, bytes, status);
    uint32_t length = (uint32_t)strlen(error.message);
    struct answer head = {(uint32_t)rue_status_exit_code(status), length, 0};
    if (status == RUE_OK) head = (struct answer){0, size.width, size.height};
    put(&head, sizeof head);
    put(status == RUE_OK ? rgb : (const void *)error.message, status == RUE_OK ? rgb_bytes : length);
    free(rgb);
}

int main(void)
{
    struct rue_jpeg *jpeg;
    if (rue_jpeg_open(RUE_MAX_PIXELS_DEFAULT, 0, &jpeg, NULL) != RUE_OK) return 1;
    uint32_t bytes;
    while (fread(&bytes, sizeof bytes, 1, stdin) == 1) {
        unsigned char *data = malloc(bytes ? bytes : 1); /* exactly as long, for the sanitizer */
        if (!data || fread(data, 1, bytes, stdin) != bytes) return 1;
        answer(jpeg, data, bytes);
        free(data);
        fflush(stdout);
    }
    rue_jpeg_close(jpeg);
    return 0;
}
