#include <criterion/criterion.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include "jpeg_fixture.h"
#include "jpeg_parts.h"

enum { MEMORY_BYTES = 1 << 20, PIXELS_MAX = 1 << 23 };

/* One level of SIMD, and libjpeg alone. */
static struct rue_jpeg *own, *plain;
static uint8_t *memory; /* before a page that cannot be read */
static unsigned seed;

static void open_decoders(const struct rue_kernels *kernels)
{
    seed = 1;
    cr_assert_eq(rue_jpeg_open(PIXELS_MAX, 0, kernels, &own, NULL), RUE_OK);
    cr_assert_eq(rue_jpeg_open(PIXELS_MAX, 0, NULL, &plain, NULL), RUE_OK);
    memory = mmap(NULL, MEMORY_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + MEMORY_BYTES, 4096, PROT_NONE), 0);
}

static void close_decoders(void)
{
    rue_jpeg_close(own);
    rue_jpeg_close(plain);
    munmap(memory, MEMORY_BYTES + 4096);
}

static unsigned draw(unsigned below)
{
    return (unsigned)rand_r(&seed) % below;
}

/* Decodes both ways. Returns whether rue's decoder decoded all MCUs. */
static bool assert_equal(struct jpeg_file file, struct jpeg_part part)
{
    uint8_t *data = memory + MEMORY_BYTES - file.bytes;
    cr_assert_leq(file.bytes, MEMORY_BYTES);
    memcpy(data, file.data, file.bytes);
    struct jpeg_result mine = jpeg_decode_part(own, data, file.bytes, part),
                       its = jpeg_decode_part(plain, data, file.bytes, part);
    const char *difference = jpeg_difference(&mine, &its);
    cr_assert_null(difference, "%s: \"%s\" and \"%s\"", difference, mine.error.message, its.error.message);
    free(mine.rows);
    free(its.rows);
    return mine.status == RUE_OK && rue_jpeg_is_baseline_used(own);
}

static const struct jpeg_recipe kinds[] = {
    {.luma_h = 1, .luma_v = 1}, {.luma_h = 2, .luma_v = 1}, {.luma_h = 2, .luma_v = 2},
    {.luma_h = 1, .luma_v = 2}, {.luma_h = 4, .luma_v = 1}, {.luma_h = 4, .luma_v = 2},
    {.luma_h = 2, .luma_v = 4}, {.colours = JCS_CMYK},      {.colours = JCS_GRAYSCALE},
};

static struct jpeg_file make_random(unsigned sides_max)
{
    struct jpeg_recipe recipe = kinds[draw(sizeof kinds / sizeof *kinds)];
    recipe.width = 1 + draw(sides_max);
    recipe.height = 1 + draw(sides_max);
    recipe.quality = 1 + (int)draw(100);
    recipe.optimized = draw(2);
    recipe.restart_mcus = draw(3) ? 0 : 1 + draw(9);
    recipe.noise = draw(3);
    return jpeg_make(recipe);
}

static const struct jpeg_part whole;

static struct jpeg_part draw_part(void)
{
    return (struct jpeg_part){draw(2) ? 0 : 1 + draw(40), draw(1000), draw(4) ? 1 + draw(1000) : 0,
                              draw(1000)};
}

/* Runs a test with each level that this machine has. */
static void each_level(void (*test)(void))
{
    for (size_t k = 0; rue_kernels[k]; k++) {
        if (!rue_kernels[k]->usable()) continue;
        open_decoders(rue_kernels[k]);
        test();
        close_decoders();
    }
}

static void decode_whole_images(void)
{
    for (int i = 0; i < 1500; i++) {
        struct jpeg_file file = make_random(70);
        cr_assert(assert_equal(file, whole), "libjpeg decoded image %d", i);
        free(file.data);
    }
}

Test(baseline_scan, images_of_all_kinds_have_libjpegs_pixels)
{
    each_level(decode_whole_images);
}

static void decode_parts(void)
{
    for (int i = 0; i < 1000; i++) {
        struct jpeg_file file = make_random(200);
        cr_assert(assert_equal(file, draw_part()), "libjpeg decoded image %d", i);
        free(file.data);
    }
}

Test(baseline_scan, crops_and_smaller_images_have_libjpegs_pixels)
{
    each_level(decode_parts);
}

/* Its segment is then too short. */
static void remove_byte(struct jpeg_file *file)
{
    size_t at = draw((unsigned)file->bytes);
    memmove(file->data + at, file->data + at + 1, file->bytes - at - 1);
    file->bytes--;
}

static void damage(struct jpeg_file *file)
{
    for (unsigned i = 1 + draw(3); i > 0; i--) {
        /* More often in the headers, which are a small part. */
        size_t at = draw(4) ? draw((unsigned)file->bytes) : draw(700) % file->bytes;
        file->data[at] = draw(3) ? file->data[at] ^ (unsigned char)(1U << draw(8))
                                 : (unsigned char)(draw(2) ? 0xFF : draw(256));
    }
    if (draw(10) == 0) file->bytes = 1 + draw((unsigned)file->bytes);
    if (draw(10) == 0) remove_byte(file);
}

/* Some are decoded here in spite of the damage, some by libjpeg, and some not at all. */
static void decode_damaged(void)
{
    int used = 0;
    for (int i = 0; i < 5000; i++) {
        struct jpeg_file file = make_random(i % 2 ? 40 : 100);
        damage(&file);
        used += assert_equal(file, draw(2) ? whole : draw_part());
        free(file.data);
    }
    cr_assert(used > 1000 && used < 4000, "%d", used);
}

Test(baseline_scan, damaged_images_have_libjpegs_verdicts_and_pixels)
{
    each_level(decode_damaged);
}

/* Short codes with the longest values that there can be, as no encoder writes them. */
static void decode_long_values(void)
{
    for (int i = 0; i < 300; i++) {
        struct jpeg_file file = make_random(60);
        for (size_t at = 0; at + 30 < file.bytes; at++) {
            bool is_ac = file.data[at] == 0xFF && file.data[at + 1] == 0xC4 && file.data[at + 4] >= 0x10;
            if (is_ac) file.data[at + 21 + draw(9)] = (unsigned char)(13 + draw(3));
        }
        assert_equal(file, whole);
        free(file.data);
    }
}

Test(baseline_scan, long_values_are_libjpegs)
{
    each_level(decode_long_values);
}

Test(baseline_scan, other_scans_are_left_to_libjpeg)
{
    static const struct jpeg_recipe others[] = {{.progressive = true}, {.arithmetic = true}};
    open_decoders(rue_kernels_best());
    for (size_t i = 0; i < 2; i++) {
        struct jpeg_recipe recipe = others[i];
        recipe.width = recipe.height = 50;
        struct jpeg_file file = jpeg_make(recipe);
        cr_assert_not(assert_equal(file, whole));
        free(file.data);
    }
    close_decoders();
}

/* A grey image of which each block raises DC by 32767, so that it passes the range of 32 bits. */
static struct jpeg_file make_rising(void)
{
    enum { COLUMNS = 272, ROWS = 256, BLOCKS = COLUMNS * ROWS };
    static const uint8_t code_15[] = {0xFF, 0xC4, 0, 20, 0x00, 1, [21] = 15}, /* DC: 0 is a size of 15 bits */
        code_end[] = {0xFF, 0xC4, 0, 20, 0x10, 1, [21] = 0},                  /* AC: 0 is an end of block */
        scan[] = {0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0};
    struct jpeg_file file =
        jpeg_make((struct jpeg_recipe){.width = COLUMNS * 8, .height = ROWS * 8, .colours = JCS_GRAYSCALE});
    size_t at = 0;
    while (file.data[at] != 0xFF || file.data[at + 1] != 0xC4) at++;
    uint8_t *out = file.data = realloc(file.data, MEMORY_BYTES);
    memcpy(out + at, code_15, sizeof code_15), at += sizeof code_15;
    memcpy(out + at, code_end, sizeof code_end), at += sizeof code_end;
    memcpy(out + at, scan, sizeof scan), at += sizeof scan;
    uint64_t bits = 0;
    for (int block = 0, count = 0; block < BLOCKS || count > 0; block++) {
        bits = bits << 17 | (block < BLOCKS ? 0xFFFE : 0);
        for (count += 17; count >= 8; count -= 8) {
            out[at++] = (uint8_t)(bits >> (count - 8));
            if (out[at - 1] == 0xFF) out[at++] = 0;
        }
        if (block >= BLOCKS) count = 0;
    }
    out[at++] = 0xFF, out[at++] = JPEG_EOI;
    file.bytes = at;
    return file;
}

/* libjpeg-turbo's own sum overflows an int. */
Test(baseline_scan, dc_past_its_range_is_left_to_libjpeg)
{
    open_decoders(rue_kernels_best());
    struct jpeg_file file = make_rising();
    cr_assert_not(assert_equal(file, whole));
    free(file.data);
    close_decoders();
}

/* This program has a jpeg_read_scanlines of its own, which calls libjpeg's. What else it does to images that
 * rue's decoder decodes: */
static enum { AS_LIBJPEG, OTHER_PIXELS, ERROR } reads;

JDIMENSION jpeg_read_scanlines(j_decompress_ptr decoder, JSAMPARRAY rows, JDIMENSION count)
{
    static JDIMENSION (*read)(j_decompress_ptr, JSAMPARRAY, JDIMENSION);
    if (!read) *(void **)&read = dlsym(RTLD_NEXT, "jpeg_read_scanlines");
    if (reads == ERROR && decoder->client_data) decoder->err->error_exit((j_common_ptr)decoder);
    JDIMENSION done = read(decoder, rows, count);
    if (reads == OTHER_PIXELS && decoder->client_data) rows[0][0] ^= 1;
    return done;
}

/* The first image of a process. */
static bool is_used_after(int first_reads)
{
    open_decoders(rue_kernels_best());
    reads = first_reads;
    struct jpeg_file file = jpeg_make((struct jpeg_recipe){.width = 50, .height = 50});
    struct rue_image_size size;
    cr_assert_eq(rue_jpeg_begin(own, file.data, file.bytes, &size, NULL), RUE_OK);
    reads = AS_LIBJPEG;
    bool is_used = assert_equal(file, whole);
    free(file.data);
    close_decoders();
    return is_used;
}

Test(baseline_scan, a_libjpeg_that_agrees_is_used_with_the_decoder)
{
    cr_assert(is_used_after(AS_LIBJPEG));
}

Test(baseline_scan, a_libjpeg_with_other_pixels_decodes_all_itself)
{
    cr_assert_not(is_used_after(OTHER_PIXELS));
}

Test(baseline_scan, a_libjpeg_that_fails_on_a_good_image_decodes_all_itself)
{
    cr_assert_not(is_used_after(ERROR));
}
