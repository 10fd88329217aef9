/* A scene of overlapping lenses in flat colours, with noise of all scales. The strength of the finest octaves
 * varies between lenses. Components are Y'CbCr in 1/16 levels around the middle. */
#include "synthetic.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "random.h"

enum {
    OCTAVES = 8,
    FINE_OCTAVES = 3, /* their strength depends on material and photo */
    MATERIALS = 16,
    PARTS = 256, /* a grain or detail of 1 has 256 parts */
    QUALITY = 95,
    DETAIL_LEAST = 110, /* found by experiment: file sizes match photographs */
    DETAIL_SPREAD = 1300,
    BYTES_PER_PIXEL_MOST = 5, /* of the JPEG: 1.5 samples of at most 26 bits */
};

struct material {
    int x, y, half_width, half_height;
    int level[3]; /* 1/16 levels, of each component */
    int grain;    /* strength of the finer noise, in 1/PARTS */
};

struct picture {
    int width, height;
    uint64_t stream;
    int detail; /* strength of the finer noise, in 1/PARTS */
    struct material materials[MATERIALS];
    unsigned char *scene;  /* the material of each pixel */
    unsigned char *pixels; /* three components each */
    int16_t *samples[2];   /* of an octave and the coarser one before */
    void *memory;
};

/* Half of the photos have 500×375 pixels, as in public data sets. 0: a random size. */
static const struct {
    int width, height;
} sizes[16] = {{500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375},
               {375, 500}, {375, 500}, {500, 333}, {333, 500}, {500, 500}, {400, 300}, {640, 480}, {0, 0}};

/* Peaks of the noise by octave, finest first, in 1/16 levels. */
static const int peaks[3][OCTAVES] = {{104, 176, 272, 288, 288, 288, 288, 256},
                                      {0, 40, 64, 80, 96, 96, 96, 96},
                                      {0, 40, 64, 80, 96, 96, 96, 96}};

static int random_between(uint64_t *stream, int min, int max)
{
    return min + (int)rue_random_below(stream, (uint64_t)(max - min + 1));
}

/* One draw per statement, because the order of draws defines the photo. */
static void choose_scene(struct picture *p, uint64_t seed, uint64_t index)
{
    p->stream = rue_mix64(seed ^ rue_mix64(index));
    uint64_t *stream = &p->stream;
    int size = random_between(stream, 0, 15);
    p->width = sizes[size].width ? sizes[size].width : random_between(stream, 300, 640);
    p->height = sizes[size].height ? sizes[size].height : random_between(stream, 240, 560);
    int wide = random_between(stream, 0, PARTS), wider = random_between(stream, 0, PARTS);
    p->detail = DETAIL_LEAST + wide * wider * DETAIL_SPREAD / (PARTS * PARTS);
    for (int i = 0; i < MATERIALS; i++) {
        struct material *m = &p->materials[i];
        m->x = random_between(stream, 0, p->width);
        m->y = random_between(stream, p->height / 4, p->height);
        m->half_width = random_between(stream, 8, p->width / 2 - i * p->width / 40);
        m->half_height = random_between(stream, 8, p->height / 2 - i * p->height / 40);
        m->level[0] = random_between(stream, -1200, 1200);
        m->level[1] = random_between(stream, -400, 400);
        m->level[2] = random_between(stream, -300, 300);
        m->grain = random_between(stream, PARTS / 4, PARTS * 2);
    }
}

static int clamp(int value, int min, int max)
{
    return value < min ? min : value > max ? max : value;
}

/* The first material is the background. Each later one is a lens between two parabolas, in front of the
 * others. */
static void draw_scene(struct picture *p)
{
    memset(p->scene, 0, (size_t)(p->width * p->height));
    for (int i = 1; i < MATERIALS; i++) {
        const struct material *m = &p->materials[i];
        int top = clamp(m->y - m->half_height, 0, p->height);
        int bottom = clamp(m->y + m->half_height, 0, p->height);
        for (int y = top; y < bottom; y++) {
            int down = y - m->y, square = m->half_height * m->half_height;
            int half = m->half_width * (square - down * down) / square;
            int left = clamp(m->x - half, 0, p->width), right = clamp(m->x + half, 0, p->width);
            memset(p->scene + y * p->width + left, i, (size_t)(right - left));
        }
    }
}

/* From coarse to fine: each octave interpolates the one before and adds its own noise. */
static void draw_component(struct picture *p, int component)
{
    int columns = 0;
    int16_t *to = p->samples[0], *from = p->samples[1];
    memset(from, 0, 64 * sizeof *from);
    for (int octave = OCTAVES - 1; octave >= 0; octave--) {
        int before = columns, rows = (p->height >> octave) + 2, strength[MATERIALS];
        columns = (p->width >> octave) + 2;
        for (int i = 0; i < MATERIALS; i++)
            strength[i] = peaks[component][octave] *
                          (octave < FINE_OCTAVES ? p->detail * p->materials[i].grain / PARTS : PARTS) / PARTS;
        for (int i = 0; i < rows * columns; i++) {
            int x = i % columns, y = i / columns;
            const int16_t *at = from + y / 2 * before + x / 2;
            int across = x % 2, down = y % 2 * before;
            int smooth = at[0] + at[across] + at[down] + at[across + down];
            int line = clamp(y << octave, 0, p->height - 1), row = clamp(x << octave, 0, p->width - 1);
            int noise = (int)(rue_random_next(&p->stream) >> 56) - 128;
            to[i] = (int16_t)(smooth / 4 + noise * strength[p->scene[line * p->width + row]] / 128);
        }
        int16_t *drawn = to;
        to = from;
        from = drawn;
    }
    for (int i = 0; i < p->width * p->height; i++) {
        int level = p->materials[p->scene[i]].level[component] + from[i / p->width * columns + i % p->width];
        p->pixels[3 * i + component] = (unsigned char)clamp(128 + level / 16, 0, 255);
    }
}

/* Allocates all memory of a picture as one block. */
static rue_status allocate_picture(struct picture *p, rue_error *error)
{
    size_t pixels = (size_t)p->width * (size_t)p->height,
           samples = (size_t)(p->width + 2) * (size_t)(p->height + 2);
    size_t bytes = 2 * samples * sizeof *p->samples[0] + 4 * pixels;
    p->memory = malloc(bytes);
    if (!p->memory) return rue_fail_memory(error, "a synthetic photo", bytes);
    p->samples[0] = p->memory;
    p->samples[1] = p->samples[0] + samples;
    p->scene = (unsigned char *)(p->samples[1] + samples);
    p->pixels = p->scene + pixels;
    return RUE_OK;
}

struct jpeg_failure {
    struct jpeg_error_mgr manager;
    jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
};

static void on_jpeg_error(j_common_ptr codec)
{
    struct jpeg_failure *failure = (struct jpeg_failure *)codec->err;
    failure->manager.format_message(codec, failure->message);
    longjmp(failure->jump, 1);
}

/* `*bytes`: the size of `jpeg`, then the length of the file. */
static rue_status encode_jpeg(const struct picture *p, unsigned char *jpeg, unsigned long *bytes,
                              rue_error *error)
{
    struct jpeg_compress_struct codec = {0};
    struct jpeg_failure failure;
    unsigned char *out = jpeg;
    codec.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_jpeg_error;
    if (setjmp(failure.jump)) {
        jpeg_destroy_compress(&codec);
        return rue_fail(error, RUE_INTERNAL, "libjpeg cannot write a synthetic photo: %s", failure.message);
    }
    jpeg_create_compress(&codec);
    jpeg_mem_dest(&codec, &out, bytes);
    codec.image_width = (JDIMENSION)p->width;
    codec.image_height = (JDIMENSION)p->height;
    codec.input_components = 3;
    codec.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&codec); /* baseline, 4:2:0 */
    jpeg_set_quality(&codec, QUALITY, TRUE);
    codec.dct_method = JDCT_ISLOW;
    jpeg_start_compress(&codec, TRUE);
    while (codec.next_scanline < codec.image_height) {
        JSAMPROW row = p->pixels + 3 * (size_t)p->width * codec.next_scanline;
        jpeg_write_scanlines(&codec, &row, 1);
    }
    jpeg_finish_compress(&codec);
    jpeg_destroy_compress(&codec);
    return RUE_OK;
}

rue_status rue_synthetic_photo(uint64_t seed, uint64_t index, unsigned char **out_jpeg, size_t *out_bytes,
                               rue_error *error)
{
    struct picture p = {0};
    choose_scene(&p, seed, index);
    unsigned long bytes = (unsigned long)p.width * (unsigned long)p.height * BYTES_PER_PIXEL_MOST;
    unsigned char *jpeg = malloc(bytes);
    rue_status status =
        jpeg ? allocate_picture(&p, error) : rue_fail_memory(error, "a synthetic photo", bytes);
    if (status == RUE_OK) {
        draw_scene(&p);
        for (int i = 0; i < 3; i++) draw_component(&p, i);
        status = encode_jpeg(&p, jpeg, &bytes, error);
    }
    free(p.memory);
    if (status != RUE_OK) return free(jpeg), status;
    unsigned char *trimmed = realloc(jpeg, bytes);
    *out_jpeg = trimmed ? trimmed : jpeg;
    *out_bytes = bytes;
    return RUE_OK;
}

void rue_synthetic_name(uint64_t index, char *out, size_t bytes)
{
    snprintf(out, bytes, "class_%u/photo_%05llu.jpg", (unsigned)(index % RUE_SYNTHETIC_CLASSES),
             (unsigned long long)index);
}
