#include "synthetic.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

typedef struct photo {
    unsigned char *jpeg;
    size_t bytes;
} photo;

static photo make(uint64_t seed, uint64_t index)
{
    photo made = {0};
    rue_error error = {0};
    rue_status status = rue_synthetic_photo(seed, index, &made.jpeg, &made.bytes, &error);
    cr_assert_eq(status, RUE_OK, "photo %llu of %llu: %s", (unsigned long long)index,
                 (unsigned long long)seed, error.message);
    return made;
}

static int same(const photo *a, const photo *b)
{
    return a->bytes == b->bytes && memcmp(a->jpeg, b->jpeg, a->bytes) == 0;
}

/* A decoder whose errors end the test: nothing here is expected to fail. */
static void fail(j_common_ptr codec)
{
    char message[JMSG_LENGTH_MAX];
    codec->err->format_message(codec, message);
    cr_assert(0, "libjpeg: %s", message);
}

static void open_photo(struct jpeg_decompress_struct *codec, struct jpeg_error_mgr *errors, const photo *from)
{
    codec->err = jpeg_std_error(errors);
    errors->error_exit = fail;
    jpeg_create_decompress(codec);
    jpeg_mem_src(codec, from->jpeg, from->bytes);
    cr_assert_eq(jpeg_read_header(codec, TRUE), JPEG_HEADER_OK, "a header is found");
}

Test(synthetic, the_same_seed_and_index_give_the_same_bytes)
{
    for (uint64_t index = 0; index < 4; index++) {
        photo first = make(7, index), second = make(7, index);
        cr_assert(same(&first, &second), "photo %d differs when made again", (int)index);
        free(first.jpeg);
        free(second.jpeg);
    }
}

Test(synthetic, other_indices_and_seeds_give_other_bytes)
{
    photo zero = make(7, 0), next = make(7, 1), other = make(8, 0), swapped = make(0, 7);
    cr_assert(!same(&zero, &next), "indices 0 and 1 give the same photo");
    cr_assert(!same(&zero, &other), "seeds 7 and 8 give the same photo");
    cr_assert(!same(&zero, &swapped), "seed and index may be swapped");
    free(zero.jpeg);
    free(next.jpeg);
    free(other.jpeg);
    free(swapped.jpeg);
}

Test(synthetic, photos_are_baseline_420_and_decode_without_warnings)
{
    for (uint64_t index = 0; index < 24; index++) {
        photo made = make(1, index);
        struct jpeg_decompress_struct codec;
        struct jpeg_error_mgr errors;
        open_photo(&codec, &errors, &made);
        cr_assert_eq(codec.num_components, 3, "%d components", codec.num_components);
        cr_assert_eq(codec.jpeg_color_space, JCS_YCbCr, "colour space %d", (int)codec.jpeg_color_space);
        cr_assert(!codec.progressive_mode && !codec.arith_code, "photo %d is not baseline", (int)index);
        for (int i = 0; i < 3; i++) {
            const jpeg_component_info *component = &codec.comp_info[i];
            cr_assert_eq(component->h_samp_factor, i ? 1 : 2, "component %d: horizontal sampling", i);
            cr_assert_eq(component->v_samp_factor, i ? 1 : 2, "component %d: vertical sampling", i);
        }
        unsigned width = codec.image_width, height = codec.image_height;
        cr_assert(width >= 240 && width <= 640, "photo %d is %u wide", (int)index, width);
        cr_assert(height >= 240 && height <= 640, "photo %d is %u high", (int)index, height);
        unsigned char row[640 * 3], *rows[1] = {row};
        jpeg_start_decompress(&codec);
        while (codec.output_scanline < codec.output_height) jpeg_read_scanlines(&codec, rows, 1);
        jpeg_finish_decompress(&codec);
        cr_assert_eq(errors.num_warnings, 0, "photo %d: %ld warnings", (int)index, errors.num_warnings);
        jpeg_destroy_decompress(&codec);
        free(made.jpeg);
    }
}

Test(synthetic, most_photos_are_landscape_and_some_are_not)
{
    int landscape = 0, usual = 0, count = 48;
    for (int index = 0; index < count; index++) {
        photo made = make(3, (uint64_t)index);
        struct jpeg_decompress_struct codec;
        struct jpeg_error_mgr errors;
        open_photo(&codec, &errors, &made);
        landscape += codec.image_width > codec.image_height;
        usual += codec.image_width == 500 && codec.image_height == 375;
        jpeg_destroy_decompress(&codec);
        free(made.jpeg);
    }
    cr_assert(usual > count / 4 && usual < count * 3 / 4, "%d of %d are 500x375", usual, count);
    cr_assert(landscape > count / 2 && landscape < count, "%d of %d are landscape", landscape, count);
}

Test(synthetic, sizes_are_those_of_photographs)
{
    double sum = 0;
    size_t least = SIZE_MAX, most = 0;
    for (uint64_t index = 0; index < 60; index++) {
        photo made = make(1, index);
        sum += (double)made.bytes;
        if (made.bytes < least) least = made.bytes;
        if (made.bytes > most) most = made.bytes;
        free(made.jpeg);
    }
    double mean = sum / 60;
    cr_assert(mean > 100e3 && mean < 135e3, "60 photos take %.0f bytes on average", mean);
    cr_assert(least > 15000 && most < 500000, "sizes from %zu to %zu bytes", least, most);
    cr_assert(most > 2 * least, "sizes vary: %zu to %zu bytes", least, most);
}

Test(synthetic, names_spread_over_the_classes)
{
    char name[64], cut[8];
    rue_synthetic_name(13, name, sizeof name);
    cr_assert_str_eq(name, "class_3/photo_00013.jpg", "%s", name);
    rue_synthetic_name(1234567, name, sizeof name);
    cr_assert_str_eq(name, "class_7/photo_1234567.jpg", "%s", name);
    rue_synthetic_name(13, cut, sizeof cut);
    cr_assert_str_eq(cut, "class_3", "a short buffer ends with a zero: %s", cut);
}
