/* A scene of flat materials (half planes, boxes, ellipses) under noise whose octaves are added from the
 * coarsest grid to the finest, each grid being the one before doubled. Planes are Y'CbCr in 1/16 levels
 * around the middle. The scene is drawn on grid 1, which is chroma's finest and luma's second finest:
 * doubling softens its edges in luma. */
#include "synthetic.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "random.h"

enum {
    GRIDS = 8,
    MATERIALS = 24,
    FINE_ONE = 64 * 64,       /* detail times grain that shows the peaks below as they are */
    FINE_MOST = 4 * FINE_ONE, /* keeps the sums within 16 bits */
    QUALITY_LEAST = 72,
    QUALITY_MOST = 98,
    DETAIL = 76, /* for each bit a pixel; found by trying: qualities are then 93-98, as in photographs */
    BYTES_PER_PIXEL_MOST = 5, /* of output: 1.5 samples of at most 26 bits */
};

typedef enum shape { HALF_PLANE, BOX, ELLIPSE } shape;

typedef struct material {
    shape shape;
    int x, y, right, down;          /* its middle on grid 1, and the direction of its length */
    int half_length, half_width;    /* in samples of grid 1 times the length of (right, down) */
    int level[3], slope_x, slope_y; /* 1/16 levels; slopes are luma's, in 1/64 of that a sample */
    int grain;                      /* how much of the finer noise it shows; 4-260 */
} material;

typedef struct grid {
    int width, height;
    int16_t *samples;
} grid;

typedef struct picture {
    int width, height;
    uint64_t stream;
    size_t target_bytes;
    int milli_bits;
    int detail; /* strength of the finer noise */
    grid grids[GRIDS];
    material materials[MATERIALS];
    uint8_t *scene; /* the material of each sample of grid 1 */
    int *row;       /* one row of the coarser grid */
    unsigned char *planes[3];
    void *memory;
} picture;

/* Half of the photos are 500×375, as in public collections of photographs. Zero: any size. */
static const struct {
    int width, height;
} sizes[16] = {{500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375}, {500, 375},
               {375, 500}, {375, 500}, {500, 333}, {333, 500}, {500, 500}, {400, 300}, {640, 480}, {0, 0}};

/* Quantiles of the bits a pixel, in 1/1000, at 1/32, 3/32, ... 31/32: log-normal, median 4.8, sigma 0.33. */
static const int milli_bits[16] = {2596, 3107, 3439, 3715, 3965, 4203, 4439, 4677,
                                   4926, 5191, 5481, 5811, 6202, 6699, 7415, 8876};

/* Peaks of the noise by grid and component, finest first, in 1/16 levels. */
static const int16_t peaks[3][GRIDS] = {{104, 176, 272, 288, 288, 288, 288, 256},
                                        {0, 40, 64, 80, 96, 96, 96, 96},
                                        {0, 40, 64, 80, 96, 96, 96, 96}};

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

static int between(uint64_t *stream, int least, int most)
{
    return least + (int)rue_random_below(stream, (uint64_t)(most - least + 1));
}

static void choose(picture *p, uint64_t seed, uint64_t index)
{
    p->stream = rue_mix64(seed ^ rue_mix64(index));
    uint64_t *stream = &p->stream;
    int size = between(stream, 0, 15);
    p->width = sizes[size].width ? sizes[size].width : between(stream, 300, 640);
    p->height = sizes[size].height ? sizes[size].height : between(stream, 240, 560);
    int at = between(stream, 0, 15 * 64 - 1), step = at / 64, part = at % 64;
    int bits = milli_bits[step] + (milli_bits[step + 1] - milli_bits[step]) * part / 64;
    p->target_bytes = (size_t)p->width * (size_t)p->height * (size_t)bits / 8000;
    p->milli_bits = bits;
}

/* Later materials lie in front of earlier ones and are smaller: sky, ground, then things. */
static void choose_materials(picture *p)
{
    uint64_t *stream = &p->stream;
    int width = p->grids[1].width, height = p->grids[1].height;
    for (int i = 0; i < MATERIALS; i++) {
        material *m = &p->materials[i];
        /* One draw a statement: the order of draws is part of the photo. */
        int reach = width / (2 + i / 2);
        m->shape = i == 1 ? HALF_PLANE : between(stream, 0, 1) ? BOX : ELLIPSE;
        m->x = between(stream, 0, width);
        m->y = between(stream, height / 4, height);
        m->right = between(stream, 48, 64);
        m->down = m->shape == HALF_PLANE ? between(stream, -8, 8) : between(stream, -48, 48);
        m->half_length = between(stream, 4, 4 + reach) * 64;
        m->half_width = between(stream, 3, 3 + reach / 2) * 64;
        m->level[0] = between(stream, -1200, 1200);
        m->level[1] = between(stream, -400, 400);
        m->level[2] = between(stream, -300, 300) - m->level[1] / 2;
        m->slope_x = between(stream, -96, 96);
        m->slope_y = between(stream, -160, 160);
        m->grain = between(stream, 8, 64);
        m->grain = 4 + m->grain * between(stream, 8, 64) / 16;
    }
}

static int covers(const material *m, int x, int y)
{
    int64_t along = (x - m->x) * m->right + (y - m->y) * m->down;
    int64_t across = (y - m->y) * m->right - (x - m->x) * m->down;
    if (m->shape == HALF_PLANE) return across >= 0;
    int64_t length = m->half_length, width = m->half_width;
    if (m->shape == BOX) return llabs(along) < length && llabs(across) < width;
    return along * along * width * width + across * across * length * length <
           length * length * width * width;
}

static void draw_scene(picture *p)
{
    const grid *g = &p->grids[1];
    for (int i = 1; i < MATERIALS; i++) {
        const material *m = &p->materials[i];
        /* (right, down) is at least 48 long; no corner of a box is farther than both halves together. */
        int reach = m->shape == HALF_PLANE ? g->width + g->height : (m->half_length + m->half_width) / 48 + 1;
        int left = clamp(m->x - reach, 0, g->width), right = clamp(m->x + reach, 0, g->width);
        int top = clamp(m->y - reach, 0, g->height), bottom = clamp(m->y + reach, 0, g->height);
        for (int y = top; y < bottom; y++) {
            uint8_t *row = p->scene + (size_t)y * (size_t)g->width;
            for (int x = left; x < right; x++) {
                if (covers(m, x, y)) row[x] = (uint8_t)i;
            }
        }
    }
    int64_t grain = 0;
    for (int i = 0; i < g->width * g->height; i++) grain += p->materials[p->scene[i]].grain;
    p->detail = (int)((int64_t)p->milli_bits * DETAIL * g->width * g->height / (grain * 64));
}

/* Bilinear doubling: a sample is 3/4 of the nearer and 1/4 of the farther neighbour, in both directions.
 * Sample i of the finer grid lies between samples i / 2 + 1 and its neighbour of the coarser one. */
static void double_grid(const grid *from, const grid *to, int *row)
{
    for (int y = 0; y < to->height; y++) {
        const int16_t *near = from->samples + (size_t)(y / 2 + 1) * (size_t)from->width;
        const int16_t *far = y % 2 ? near + from->width : near - from->width;
        int16_t *out = to->samples + (size_t)y * (size_t)to->width;
        for (int x = 0; x < from->width; x++) row[x] = 3 * near[x] + far[x];
        for (int x = 0; x < to->width / 2; x++) {
            out[2 * x] = (int16_t)((3 * row[x + 1] + row[x] + 8) >> 4);
            out[2 * x + 1] = (int16_t)((3 * row[x + 1] + row[x + 2] + 8) >> 4);
        }
    }
}

/* The sample of grid 1 that `at` of grid `number` lies on. */
static int on_scene(int at, int number, int size)
{
    if (number == 0) return at / 2 + 1;
    int shift = number - 1, place = (at << shift) - 2 * ((1 << shift) - 1);
    return clamp(place, 0, size - 1);
}

static void add_noise(picture *p, int number, int component)
{
    const grid *g = &p->grids[number];
    int strength[MATERIALS];
    for (int i = 0; i < MATERIALS; i++) {
        int fine = number > 2 ? FINE_ONE : clamp(p->detail * p->materials[i].grain, 0, FINE_MOST);
        strength[i] = peaks[component][number] * fine;
    }
    for (int y = 0; y < g->height; y++) {
        size_t line = (size_t)on_scene(y, number, p->grids[1].height);
        const uint8_t *scene = p->scene + line * (size_t)p->grids[1].width;
        int16_t *out = g->samples + (size_t)y * (size_t)g->width;
        uint64_t word = 0;
        for (int x = 0; x < g->width; x++, word >>= 8) {
            if (x % 8 == 0) word = rue_random_next(&p->stream);
            int noise = (int)(word & 255) - 128, at = on_scene(x, number, p->grids[1].width);
            out[x] = (int16_t)(out[x] + noise * strength[scene[at]] / (128 * FINE_ONE));
        }
    }
}

static void add_scene(picture *p, int component)
{
    const grid *g = &p->grids[1];
    for (int y = 0; y < g->height; y++) {
        for (int x = 0; x < g->width; x++) {
            size_t at = (size_t)y * (size_t)g->width + (size_t)x;
            const material *m = &p->materials[p->scene[at]];
            int slope = m->slope_x * (x - g->width / 2) + m->slope_y * (y - g->height / 2);
            int level = m->level[component] + (component ? 0 : slope / 64);
            g->samples[at] = (int16_t)(g->samples[at] + level);
        }
    }
}

static void draw_plane(picture *p, int component)
{
    int finest = component ? 1 : 0, margin = component ? 1 : 0;
    grid *coarsest = &p->grids[GRIDS - 1];
    for (int i = 0; i < coarsest->width * coarsest->height; i++) coarsest->samples[i] = 0;
    for (int i = GRIDS - 1; i >= finest; i--) {
        if (i < GRIDS - 1) double_grid(&p->grids[i + 1], &p->grids[i], p->row);
        add_noise(p, i, component);
        if (i == 1) add_scene(p, component);
    }
    const grid *g = &p->grids[finest];
    unsigned char *out = p->planes[component];
    for (int y = margin; y < g->height - margin; y++) {
        const int16_t *row = g->samples + (size_t)y * (size_t)g->width;
        for (int x = margin; x < g->width - margin; x++) {
            int level = 128 + ((row[x] + 8) >> 4);
            *out++ = (unsigned char)clamp(level, 0, 255);
        }
    }
}

/* Lays out everything that a picture needs in one block of memory. */
static rue_status allocate(picture *p, rue_error *error)
{
    int width = (p->width + 15) / 16 * 16, height = (p->height + 15) / 16 * 16;
    size_t samples = 0, plane = (size_t)width * (size_t)height;
    for (int i = 0; i < GRIDS; i++) {
        p->grids[i] = (grid){.width = width, .height = height};
        samples += (size_t)width * (size_t)height;
        width = (width / 2 + 3) / 2 * 2; /* even, for doubling */
        height = (height / 2 + 3) / 2 * 2;
    }
    size_t row = (size_t)p->grids[1].width, scene = row * (size_t)p->grids[1].height;
    size_t bytes = row * sizeof *p->row + samples * sizeof(int16_t) + plane * 3 / 2 + scene;
    p->memory = calloc(1, bytes);
    if (!p->memory) return rue_fail_memory(error, "a synthetic photo", bytes);
    p->row = p->memory;
    int16_t *at = (int16_t *)(p->row + row);
    for (int i = 0; i < GRIDS; i++) {
        p->grids[i].samples = at;
        at += p->grids[i].width * p->grids[i].height;
    }
    p->planes[0] = (unsigned char *)at;
    p->planes[1] = p->planes[0] + plane;
    p->planes[2] = p->planes[1] + plane / 4;
    p->scene = p->planes[2] + plane / 4;
    return RUE_OK;
}

typedef struct refusal {
    struct jpeg_error_mgr manager;
    jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
} refusal;

static void refuse(j_common_ptr codec)
{
    refusal *r = (refusal *)codec->err;
    r->manager.format_message(codec, r->message);
    longjmp(r->jump, 1);
}

static void keep_quiet(j_common_ptr codec)
{
    (void)codec;
}

static void write_rows(struct jpeg_compress_struct *codec, const picture *p)
{
    JSAMPROW rows[3][16];
    JSAMPARRAY planes[3] = {rows[0], rows[1], rows[2]};
    size_t width = (size_t)p->grids[0].width;
    while (codec->next_scanline < codec->image_height) {
        size_t first = codec->next_scanline;
        for (size_t i = 0; i < 16; i++) rows[0][i] = p->planes[0] + (first + i) * width;
        for (size_t i = 0; i < 8; i++) {
            rows[1][i] = p->planes[1] + (first / 2 + i) * (width / 2);
            rows[2][i] = p->planes[2] + (first / 2 + i) * (width / 2);
        }
        jpeg_write_raw_data(codec, planes, 16);
    }
}

/* `*bytes` is the room in `jpeg` on entry and the length of the file on return. */
static rue_status encode(const picture *p, int quality, unsigned char *jpeg, unsigned long *bytes,
                         rue_error *error)
{
    struct jpeg_compress_struct codec = {0};
    refusal refused;
    unsigned char *out = jpeg;
    codec.err = jpeg_std_error(&refused.manager);
    refused.manager.error_exit = refuse;
    refused.manager.output_message = keep_quiet;
    if (setjmp(refused.jump)) {
        jpeg_destroy_compress(&codec);
        return rue_fail(error, RUE_INTERNAL, "libjpeg does not write a synthetic photo: %s", refused.message);
    }
    jpeg_create_compress(&codec);
    jpeg_mem_dest(&codec, &out, bytes);
    codec.image_width = (JDIMENSION)p->width;
    codec.image_height = (JDIMENSION)p->height;
    codec.input_components = 3;
    codec.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&codec); /* baseline, 4:2:0 */
    jpeg_set_quality(&codec, quality, TRUE);
    codec.dct_method = JDCT_ISLOW;
    codec.raw_data_in = TRUE;
    jpeg_start_compress(&codec, TRUE);
    write_rows(&codec, p);
    jpeg_finish_compress(&codec);
    jpeg_destroy_compress(&codec);
    return RUE_OK;
}

/* The least quality that reaches 15/16 of the aim: a step of quality is about 1/8 of the size. */
static rue_status encode_to_size(const picture *p, unsigned char *jpeg, size_t room, size_t *bytes,
                                 rue_error *error)
{
    int low = QUALITY_LEAST, high = QUALITY_MOST, quality = 0;
    unsigned long length = 0;
    while (quality != low) {
        quality = (low + high) / 2;
        length = room;
        rue_status status = encode(p, quality, jpeg, &length, error);
        if (status != RUE_OK) return status;
        if (length < p->target_bytes / 16 * 15 && quality < QUALITY_MOST) {
            low = quality + 1;
        } else {
            high = quality;
        }
    }
    *bytes = length;
    return RUE_OK;
}

rue_status rue_synthetic_photo(uint64_t seed, uint64_t index, unsigned char **out_jpeg, size_t *out_bytes,
                               rue_error *error)
{
    picture p = {0};
    choose(&p, seed, index);
    unsigned char *jpeg = NULL;
    size_t room = (size_t)p.width * (size_t)p.height * BYTES_PER_PIXEL_MOST;
    rue_status status = allocate(&p, error);
    if (status != RUE_OK) goto out;
    jpeg = malloc(room);
    if (!jpeg) {
        status = rue_fail_memory(error, "a synthetic photo", room);
        goto out;
    }
    choose_materials(&p);
    draw_scene(&p);
    for (int i = 0; i < 3; i++) draw_plane(&p, i);
    status = encode_to_size(&p, jpeg, room, out_bytes, error);
    if (status != RUE_OK) goto out;
    unsigned char *trimmed = realloc(jpeg, *out_bytes);
    *out_jpeg = trimmed ? trimmed : jpeg;
    jpeg = NULL;
out:
    free(jpeg);
    free(p.memory);
    return status;
}

void rue_synthetic_name(uint64_t index, char *out, size_t bytes)
{
    snprintf(out, bytes, "class_%u/photo_%05llu.jpg", (unsigned)(index % RUE_SYNTHETIC_CLASSES),
             (unsigned long long)index);
}
