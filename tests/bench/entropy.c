/* Huffman codes of baseline JPEGs: what the scans hold, rue's decoder beside libjpeg-turbo's, and rue's
 * pipeline with and without it, by one thread and by two. Coefficients and tensors must be equal.
 *
 * entropy FOLDER [REPEATS [IMAGES]] */
#include "bench.h"

#include <pthread.h>

#include <jpeglib.h>

#include "baseline.h"
#include "jpeg.h"
#include "photos.h"

enum { MCU_BLOCKS_MAX = 10, RECIPES = 2, THREADS = 2, SIDES = 2 + 2 * RECIPES * THREADS };

/* See baseline.c. */
struct entropy_decoder {
    void (*start)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
};

static struct rue_baseline *baseline;
static struct jpeg_decompress_struct decoders[2]; /* libjpeg's, and with rue's decoder */
static JBLOCK blocks[2][MCU_BLOCKS_MAX];
static JBLOCKROW rows[2][MCU_BLOCKS_MAX];

static struct worker {
    pthread_t thread;
    struct rue_transform *transforms[2][RECIPES]; /* libjpeg's, and with rue's decoder */
    float *tensor;
    int side, recipe, first, step; /* of the run in progress; the last two of photographs */
} workers[THREADS];

/* The linker puts it in the place of rue_jpeg_open. */
rue_status __real_rue_jpeg_open(uint64_t max_pixels, uint32_t short_side, const struct rue_kernels *kernels,
                                struct rue_jpeg **out, rue_error *error);
rue_status __wrap_rue_jpeg_open(uint64_t max_pixels, uint32_t short_side, const struct rue_kernels *kernels,
                                struct rue_jpeg **out, rue_error *error);
static bool opens_with_baseline;

rue_status __wrap_rue_jpeg_open(uint64_t max_pixels, uint32_t short_side, const struct rue_kernels *kernels,
                                struct rue_jpeg **out, rue_error *error)
{
    return __real_rue_jpeg_open(max_pixels, short_side, opens_with_baseline ? kernels : NULL, out, error);
}

/* ---- what the scans hold ---- */

static struct {
    uint64_t bytes, blocks, symbols, bits;
} held;

static unsigned code_length(const JHUFF_TBL *table, unsigned symbol)
{
    unsigned index = 0;
    while (table->huffval[index] != symbol) index++;
    for (unsigned length = 1, codes = 0; length <= 16; length++)
        if ((codes += table->bits[length]) > index) return length;
    return 0;
}

static void count_symbol(const JHUFF_TBL *table, unsigned symbol)
{
    held.symbols++;
    held.bits += code_length(table, symbol) + (symbol & 15);
}

static void count_block(const JHUFF_TBL *table, const JCOEF *block)
{
    static const unsigned char order[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                            12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                            35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                            58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    unsigned run = 0;
    held.blocks++;
    for (int k = 1; k < 64; k++, run++) {
        int value = block[order[k]];
        if (value == 0) continue;
        for (; run > 15; run -= 16) count_symbol(table, 0xF0);
        count_symbol(table, run << 4 | (32 - (unsigned)__builtin_clz((unsigned)abs(value))));
        run = UINT32_MAX;
    }
    if (run > 0) count_symbol(table, 0);
}

static void begin(j_decompress_ptr decoder, const struct photo *photo)
{
    jpeg_mem_src(decoder, photo->data, photo->bytes);
    jpeg_read_header(decoder, TRUE);
    jpeg_start_decompress(decoder);
    if (decoder->client_data) rue_baseline_begin(decoder);
}

static void decode_mcu(int side)
{
    j_decompress_ptr decoder = &decoders[side];
    memset(blocks[side], 0, sizeof(JBLOCK) * (size_t)decoder->blocks_in_MCU);
    ((struct entropy_decoder *)decoder->entropy)->decode_mcu(decoder, rows[side]);
}

/* Decodes with both, compares and counts. */
static void check_coefficients(const struct photo *photo)
{
    for (int side = 0; side < 2; side++) begin(&decoders[side], photo);
    j_decompress_ptr decoder = &decoders[0];
    for (JDIMENSION m = 0; m < decoder->MCUs_per_row * decoder->MCU_rows_in_scan; m++) {
        for (int side = 0; side < 2; side++) decode_mcu(side);
        if (memcmp(blocks[0], blocks[1], sizeof(JBLOCK) * (size_t)decoder->blocks_in_MCU) != 0)
            fputs("entropy: coefficients differ\n", stderr), exit(1);
        for (int b = 0; b < decoder->blocks_in_MCU; b++)
            count_block(
                decoder->ac_huff_tbl_ptrs[decoder->cur_comp_info[decoder->MCU_membership[b]]->ac_tbl_no],
                blocks[0][b]);
    }
    if (!rue_baseline_is_used(baseline)) fputs("entropy: an image is left to libjpeg\n", stderr), exit(1);
    for (int side = 0; side < 2; side++) jpeg_abort_decompress(&decoders[side]);
    held.bytes += photo->bytes;
}

/* ---- the pipeline ---- */

static void run_transform(struct worker *worker, int side, int recipe, int i)
{
    rue_error error = {0};
    const struct rue_training training = {{.seed = 1}, (uint64_t)i};
    struct rue_transform *transform = worker->transforms[side][recipe];
    bench_check(recipe == 0 ? rue_transform_jpeg(transform, photos[i].data, photos[i].bytes, RUE_FLOAT32,
                                                 worker->tensor, &error)
                            : rue_transform_train(transform, photos[i].data, photos[i].bytes, &training,
                                                  RUE_FLOAT32, (void *[]){worker->tensor}, &error),
                &error);
}

static void open_worker(struct worker *worker)
{
    worker->tensor = aligned_alloc(4096, sizeof(float) * RUE_TENSOR_ITEMS);
    for (int side = 0; side < 2; side++) {
        opens_with_baseline = side;
        worker->transforms[side][0] = bench_open_transform(NULL);
        worker->transforms[side][1] = bench_open_transform("mild");
    }
}

static void check_tensors(void)
{
    static float expected[RUE_TENSOR_ITEMS];
    for (int recipe = 0; recipe < RECIPES; recipe++)
        for (int i = 0; i < photo_count; i++) {
            run_transform(&workers[0], 0, recipe, i);
            memcpy(expected, workers[0].tensor, sizeof expected);
            run_transform(&workers[0], 1, recipe, i);
            if (memcmp(expected, workers[0].tensor, sizeof expected) != 0)
                fputs("entropy: tensors differ\n", stderr), exit(1);
        }
}

/* ---- times ---- */

static void run_scan(int side, int i)
{
    j_decompress_ptr decoder = &decoders[side];
    begin(decoder, &photos[i]);
    for (JDIMENSION m = decoder->MCUs_per_row * decoder->MCU_rows_in_scan; m > 0; m--) decode_mcu(side);
    jpeg_abort_decompress(decoder);
}

static void *run_share(void *context)
{
    struct worker *worker = context;
    for (int i = worker->first; i < photo_count; i += worker->step)
        run_transform(worker, worker->side, worker->recipe, i);
    return NULL;
}

static double run_pipeline(int side, int recipe, int threads)
{
    double start = bench_now();
    for (int t = 0; t < threads; t++) {
        struct worker *worker = &workers[t];
        worker->side = side, worker->recipe = recipe, worker->first = t, worker->step = threads;
        if (pthread_create(&worker->thread, NULL, run_share, worker) != 0) abort();
    }
    for (int t = 0; t < threads; t++) pthread_join(workers[t].thread, NULL);
    return bench_now() - start;
}

/* Sides: libjpeg's scans, rue's scans; then both ways of each recipe by one thread, and by more. */
static double measure_side(void *context)
{
    int number = *(int *)context, side = number % 2, pair = number / 2 - 1;
    if (pair >= 0) return run_pipeline(side, pair % RECIPES, 1 + pair / RECIPES) * 1e3 / photo_count;
    double start = bench_now();
    for (int i = 0; i < photo_count; i++) run_scan(side, i);
    return (bench_now() - start) * 1e3 / photo_count;
}

static void print_pipelines(const double *medians)
{
    static const char *const what[] = {"an image for evaluation", "an image for training (mild)"};
    for (int pair = 0; pair < RECIPES * THREADS; pair++, medians += 2) {
        char text[96];
        snprintf(text, sizeof text, "%s without rue's decoder, threads: %d", what[pair % RECIPES],
                 1 + pair / RECIPES);
        bench_row(text, "ms", medians[0], "with it", medians[1], ">= 1.25");
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: entropy FOLDER [REPEATS [IMAGES]]\n", stderr), 2;
    bench_read_photos(argv[1], argc > 3 ? atoi(argv[3]) : BENCH_PHOTOS);
    rue_error error = {0};
    struct jpeg_error_mgr handler;
    bench_check(rue_baseline_open(rue_kernels_best(), &baseline, &error), &error);
    for (int side = 0; side < 2; side++) {
        decoders[side].err = jpeg_std_error(&handler);
        decoders[side].client_data = side ? baseline : NULL;
        jpeg_create_decompress(&decoders[side]);
        for (int b = 0; b < MCU_BLOCKS_MAX; b++) rows[side][b] = &blocks[side][b];
    }
    for (int t = 0; t < THREADS; t++) open_worker(&workers[t]);
    for (int i = 0; i < photo_count; i++) check_coefficients(&photos[i]);
    check_tensors();
    fprintf(stderr, "%d images of %.0f bytes: %.0f blocks, %.0f AC symbols of %.2f bits an image\n",
            photo_count, (double)held.bytes / photo_count, (double)held.blocks / photo_count,
            (double)held.symbols / photo_count, (double)held.bits / (double)held.symbols);
    int numbers[SIDES];
    struct bench_side sides[SIDES];
    double medians[SIDES];
    for (int s = 0; s < SIDES; s++) {
        numbers[s] = s;
        sides[s] = (struct bench_side){"", measure_side, &numbers[s]};
    }
    bench_run(sides, SIDES, argc > 2 ? atoi(argv[2]) : 15, medians);
    bench_row("Huffman codes by libjpeg, headers included", "ms", medians[0], "by rue", medians[1], ">= 1.7");
    print_pipelines(medians + 2);
}
