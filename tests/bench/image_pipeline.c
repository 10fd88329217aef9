/* What one image costs one thread: rue's pipeline, for evaluation and for training, beside the same steps
 * over the whole image with libjpeg-turbo alone, and beside its Huffman decoding.   image_pipeline FOLDER
 * [REPEATS] */
#include "bench.h"

#include <jpeglib.h>

#include "jpeg.h"
#include "photos.h"
#include "resample.h"

static float *tensor;
static struct rue_recipe mild;
static struct rue_transform *transform, *trained[2];
static struct rue_resample *resample;
static unsigned char *pixels;
static size_t pixel_bytes;
static struct jpeg_decompress_struct decoder;
static struct jpeg_error_mgr handler;

static double measure_cpu_ms(void (*each)(const struct photo *))
{
    double start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < photo_count; i++) each(&photos[i]);
    return (bench_clock(CLOCK_THREAD_CPUTIME_ID) - start) * 1e3 / photo_count;
}

static void run_pipeline(const struct photo *photo)
{
    rue_error error = {0};
    bench_check(rue_transform_jpeg(transform, photo->data, photo->bytes, RUE_FLOAT32, tensor, &error),
                &error);
}

static void begin(const struct photo *photo)
{
    jpeg_mem_src(&decoder, photo->data, photo->bytes);
    jpeg_read_header(&decoder, TRUE);
}

static struct rue_training training_of(const struct photo *photo)
{
    return (struct rue_training){{.seed = 1}, (uint64_t)(photo - photos)};
}

static void train(struct rue_transform *with, const struct photo *photo)
{
    rue_error error = {0};
    const struct rue_training training = training_of(photo);
    bench_check(rue_transform_train(with, photo->data, photo->bytes, &training, RUE_FLOAT32,
                                    (void *[]){tensor}, &error),
                &error);
}

static void run_mild(const struct photo *photo)
{
    train(trained[0], photo);
}

static void run_aggressive(const struct photo *photo)
{
    train(trained[1], photo);
}

/* Decodes all of the image, as RGB's four-byte form that the resampler takes. Returns bytes of a row. */
static size_t decode_whole(const struct photo *photo)
{
    begin(photo);
    decoder.out_color_space = JCS_EXT_RGBX;
    jpeg_start_decompress(&decoder);
    size_t stride = (size_t)decoder.output_width * 4,
           bytes = stride * decoder.output_height + RUE_RESAMPLE_SLACK_BYTES;
    if (bytes > pixel_bytes) pixels = realloc(pixels, pixel_bytes = bytes);
    while (decoder.output_scanline < decoder.output_height) {
        JSAMPROW row = pixels + decoder.output_scanline * stride;
        jpeg_read_scanlines(&decoder, &row, 1);
    }
    jpeg_finish_decompress(&decoder);
    return stride;
}

static struct rue_geometry usual;

static void resample_whole(size_t stride)
{
    struct rue_span rows = rue_resample_rows(resample);
    for (uint32_t y = rows.first; y < rows.first + rows.count; y++)
        rue_resample_row(resample, y, pixels + y * stride, 0);
    rue_resample_end(resample, RUE_FLOAT32, tensor);
}

static void run_whole(const struct photo *photo)
{
    size_t stride = decode_whole(photo);
    rue_error error = {0};
    uint32_t width = decoder.output_width, height = decoder.output_height;
    bench_check(
        rue_resample_begin(resample, width, height, 8, rue_resample_centre(&usual, width, height), &error),
        &error);
    resample_whole(stride);
}

static void run_whole_mild(const struct photo *photo)
{
    struct rue_augmentation one;
    const struct rue_training training = training_of(photo);
    size_t stride = decode_whole(photo);
    rue_error error = {0};
    rue_augmentation_draw(&mild, &training.key, training.item, 1, &one, 1);
    struct rue_crop crop =
        rue_augmentation_crop(&mild, &training.key, &one, decoder.output_width, decoder.output_height);
    bench_check(rue_resample_begin_box(resample, crop, &error), &error);
    resample_whole(stride);
}

static void run_huffman(const struct photo *photo)
{
    begin(photo);
    jpeg_read_coefficients(&decoder);
    jpeg_finish_decompress(&decoder);
}

static double measure_side(void *context)
{
    void (*const *each)(const struct photo *) = context;
    return measure_cpu_ms(*each);
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: image_pipeline FOLDER [REPEATS]\n", stderr), 2;
    rue_error error = {0};
    bench_read_photos(argv[1], BENCH_PHOTOS);
    tensor = aligned_alloc(4096, sizeof(float) * RUE_TENSOR_ITEMS);
    usual = rue_geometry_default();
    transform = bench_open_transform(NULL);
    trained[0] = bench_open_transform("mild");
    trained[1] = bench_open_transform("aggressive");
    bench_check(rue_resample_open(&usual, RUE_PILLOW, &resample, &error), &error);
    decoder.err = jpeg_std_error(&handler);
    jpeg_create_decompress(&decoder);
    bench_check(rue_recipe_preset("mild", &mild, &error), &error);
    static void (*each[])(const struct photo *) = {run_pipeline, run_whole,      run_huffman,
                                                   run_mild,     run_whole_mild, run_aggressive};
    enum { SIDES = sizeof each / sizeof *each };
    struct bench_side sides[SIDES];
    double medians[SIDES];
    for (int s = 0; s < SIDES; s++) sides[s] = (struct bench_side){"", measure_side, &each[s]};
    bench_run(sides, SIDES, argc > 2 ? atoi(argv[2]) : 15, medians);
    bench_row("an image through the pipeline, one thread", "ms", medians[0],
              "every pixel decoded by libjpeg, same steps", medians[1], "<= 0.9");
    bench_row("an image through the pipeline, one thread", "ms", medians[0],
              "Huffman decoding by libjpeg alone", medians[2], "");
    bench_row("an image for training (mild), one thread", "ms", medians[3],
              "every pixel decoded by libjpeg, same crop", medians[4], "<= 0.9");
    bench_row("an image for training (mild), one thread", "ms", medians[3], "an image for evaluation",
              medians[0], "");
    bench_row("an image for training (aggressive), one thread", "ms", medians[5], "mild", medians[3], "");
}
