/* Writes a JPEG that PIL cannot write to standard output: `make_jpeg width=64 colours=ycck sampling=2x1,1x1
 * ...`. A tool of tests/odd_jpegs.py, not a test. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { SCANS_MAX = 4 * 64 };

/* What to encode; each word of the command line sets one. */
static struct {
    unsigned width, height, quality;
    char colours[16];  /* of the file, and of the pixels that go in unless `pixels` says otherwise */
    char pixels[16];   /* rgb, cmyk, grey, or the number of components without meaning */
    char sampling[40]; /* of each component, as 2x1,1x1,1x1 */
    char ids[20];      /* of each component, as 82,71,66 */
    unsigned restart;  /* interval in MCUs */
    unsigned smooth;   /* no noise, for images that are large */
    unsigned progressive, arithmetic, optimize, scans; /* scans: one for each component, baseline */
    unsigned jfif, adobe;                              /* 0: as libjpeg chooses, 1: without, 2: with */
    unsigned wide_tables;                              /* quantisation tables of 16 bits */
} recipe = {.width = 64, .height = 48, .quality = 85, .colours = "ycc"};

static const struct {
    const char *name;
    char *text;       /* or NULL */
    unsigned *number; /* where text is NULL */
    size_t bytes;
} words[] = {
    {"width", NULL, &recipe.width, 0},
    {"height", NULL, &recipe.height, 0},
    {"quality", NULL, &recipe.quality, 0},
    {"colours", recipe.colours, NULL, sizeof recipe.colours},
    {"pixels", recipe.pixels, NULL, sizeof recipe.pixels},
    {"sampling", recipe.sampling, NULL, sizeof recipe.sampling},
    {"ids", recipe.ids, NULL, sizeof recipe.ids},
    {"restart", NULL, &recipe.restart, 0},
    {"smooth", NULL, &recipe.smooth, 0},
    {"progressive", NULL, &recipe.progressive, 0},
    {"arithmetic", NULL, &recipe.arithmetic, 0},
    {"optimize", NULL, &recipe.optimize, 0},
    {"scans", NULL, &recipe.scans, 0},
    {"jfif", NULL, &recipe.jfif, 0},
    {"adobe", NULL, &recipe.adobe, 0},
    {"wide_tables", NULL, &recipe.wide_tables, 0},
};

/* How libjpeg calls colour spaces; a number stands for so many components without meaning. */
static const struct {
    const char *name;
    J_COLOR_SPACE space;
    int components;
} spaces[] = {
    {"grey", JCS_GRAYSCALE, 1}, {"rgb", JCS_RGB, 3},   {"ycc", JCS_YCbCr, 3},
    {"cmyk", JCS_CMYK, 4},      {"ycck", JCS_YCCK, 4},
};

static void fail(const char *what)
{
    fprintf(stderr, "make_jpeg: %s\n", what);
    exit(2);
}

static void read_word(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].name);
        if (strncmp(word, words[i].name, length) != 0 || word[length] != '=') continue;
        const char *value = word + length + 1;
        if (!words[i].text) {
            *words[i].number = (unsigned)strtoul(value, NULL, 10);
            return;
        }
        snprintf(words[i].text, words[i].bytes, "%s", value);
        return;
    }
    fail(word);
}

static J_COLOR_SPACE find_space(const char *name, int *components)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, name) == 0) return *components = spaces[i].components, spaces[i].space;
    *components = atoi(name);
    if (*components < 1 || *components > MAX_COMPONENTS) fail(name);
    return JCS_UNKNOWN;
}

static const char *default_pixels(void)
{
    if (strcmp(recipe.colours, "ycc") == 0) return "rgb";
    if (strcmp(recipe.colours, "ycck") == 0) return "cmyk";
    return recipe.colours;
}

static void set_components(struct jpeg_compress_struct *encoder)
{
    const char *sampling = recipe.sampling, *ids = recipe.ids;
    for (int i = 0; i < encoder->num_components; i++) {
        jpeg_component_info *part = &encoder->comp_info[i];
        int used = 0;
        if (sscanf(sampling, "%dx%d%n", &part->h_samp_factor, &part->v_samp_factor, &used) == 2)
            sampling += used + (sampling[used] == ',');
        if (sscanf(ids, "%d%n", &part->component_id, &used) == 1) ids += used + (ids[used] == ',');
    }
}

/* `recipe.scans` scans of a component each, in turn; baseline, so a repeated one replaces the one before. */
static void set_scans(struct jpeg_compress_struct *encoder)
{
    static jpeg_scan_info scans[SCANS_MAX];
    if (recipe.scans > SCANS_MAX) fail("too many scans");
    for (unsigned i = 0; i < recipe.scans; i++)
        scans[i] = (jpeg_scan_info){
            .comps_in_scan = 1, .component_index = {(int)i % encoder->num_components}, .Se = DCTSIZE2 - 1};
    encoder->scan_info = scans;
    encoder->num_scans = (int)recipe.scans;
}

static void set_up(struct jpeg_compress_struct *encoder)
{
    int components;
    encoder->in_color_space = find_space(recipe.pixels[0] ? recipe.pixels : default_pixels(), &components);
    encoder->input_components = components;
    encoder->image_width = recipe.width;
    encoder->image_height = recipe.height;
    jpeg_set_defaults(encoder);
    jpeg_set_colorspace(encoder, find_space(recipe.colours, &components));
    jpeg_set_quality(encoder, (int)recipe.quality, !recipe.wide_tables);
    if (recipe.wide_tables)
        for (int i = 0; i < 2; i++)
            for (int k = 40; k < DCTSIZE2; k++)
                encoder->quant_tbl_ptrs[i]->quantval[k] = (UINT16)(250 + 9 * k);
    set_components(encoder);
    if (recipe.progressive) jpeg_simple_progression(encoder);
    if (recipe.scans) set_scans(encoder);
    encoder->arith_code = recipe.arithmetic;
    encoder->optimize_coding = recipe.optimize;
    encoder->restart_interval = recipe.restart;
    if (recipe.jfif) encoder->write_JFIF_header = recipe.jfif == 2;
    if (recipe.adobe) encoder->write_Adobe_marker = recipe.adobe == 2;
}

/* Gradients and edges under noise, another in each channel. */
static void fill_row(unsigned char *row, unsigned y, unsigned channels)
{
    static unsigned state = 12345;
    for (unsigned x = 0; x < recipe.width; x++)
        for (unsigned c = 0; c < channels; c++) {
            unsigned smooth =
                (c % 2 ? y * 255 / recipe.height : x * 255 / recipe.width) + (x / 5 + y / (3 + c)) % 2 * 60;
            state = state * 1103515245U + 12345U;
            unsigned noise = recipe.smooth ? 0 : (state >> 16) % 50;
            row[x * channels + c] = (unsigned char)((smooth + noise + 40 * c) & 255);
        }
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) read_word(arguments[i]);
    struct jpeg_error_mgr errors; /* an error prints its message and exits */
    struct jpeg_compress_struct encoder = {.err = jpeg_std_error(&errors)};
    jpeg_create_compress(&encoder);
    jpeg_stdio_dest(&encoder, stdout);
    set_up(&encoder);
    jpeg_start_compress(&encoder, TRUE);
    unsigned channels = (unsigned)encoder.input_components;
    unsigned char *row = malloc((size_t)recipe.width * channels);
    if (!row) fail("out of memory");
    for (unsigned y = 0; y < recipe.height; y++) {
        fill_row(row, y, channels);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    free(row);
    return 0;
}
