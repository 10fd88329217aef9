#include "baseline.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "baseline_scan.h"

enum {
    KNOWN_FROM = 1005000, /* versions of libjpeg-turbo of which struct entropy_decoder is known */
    KNOWN_BEFORE = 3003000,
    SCAN_BYTES_MAX = 64 << 20, /* and what follows it; longer ones are left to libjpeg, not copied */
    TABLES = 4,
};

/* The beginning of struct jpeg_entropy_decoder in jpegint.h, which is not installed. The same in all known
 * versions. check_hook tries it once per process. */
struct entropy_decoder {
    void (*start)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
};

struct rue_baseline {
    const struct rue_kernels *kernels;
    struct rue_scan scan;
    struct rue_huffman dc[TABLES], ac[TABLES];
    /* The scan without stuffed zeros and restart markers. */
    uint8_t *bytes;
    size_t bytes_room;
    uint32_t *segment_ends; /* in `bytes` */
    size_t segments_room;
    uint32_t segments, segment; /* number, and the next one */
    uint32_t mcus_in_segment, until_restart;
    bool is_used;
    /* What libjpeg needs to start over. */
    struct {
        boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
        struct jpeg_source_mgr source;
        uint32_t mcus; /* to decode again */
    } libjpeg;
};

/* ---- tables ---- */

static const uint8_t natural_order[RUE_BLOCK_COEFFICIENTS + 1] = {
    0,  0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40,
    48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15,
    23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

/* Assigns codes in the order of T.81, annex C, and writes the symbols of look-ups; 0 for longer codes. */
static void fill_symbols(struct rue_huffman *table, rue_symbol *symbols)
{
    int32_t code = 0, index = 0;
    uint32_t filled = 0;
    for (unsigned length = 1; length <= RUE_CODE_BITS_MAX; length++, code <<= 1) {
        table->offset[length] = index - code;
        for (int i = 0; i < table->lengths[length]; i++, code++, index++) {
            if (length > RUE_LOOK_UP_BITS) continue;
            rue_symbol symbol = rue_symbol_make(table->symbols[index & 255], length, table->is_ac);
            for (uint32_t n = 0; n < 1U << (RUE_LOOK_UP_BITS - length); n++) symbols[filled++] = symbol;
        }
        table->last[length] = table->lengths[length] > 0 ? code - 1 : -1;
    }
    memset(symbols + filled, 0, ((1U << RUE_LOOK_UP_BITS) - filled) * sizeof *symbols);
}

/* The pair of the look-up `index`: its second symbol only if the look-up holds all bits of both. */
static rue_symbol_pair make_pair(const rue_symbol *symbols, uint32_t index)
{
    rue_symbol first = symbols[index];
    unsigned bits = first & 63, added = first >> 8 & 255;
    if (!first) return RUE_LOOK_UP_FAILED << 8;
    rue_symbol_pair pair = bits | added << 8 | (rue_symbol_pair)((1U << (first >> 16)) - 1) << 16 |
                           (rue_symbol_pair)(64 - bits) << 40;
    if (bits >= RUE_LOOK_UP_BITS || added == RUE_END_OF_BLOCK) return pair;
    uint32_t rest = index << bits & ((1U << RUE_LOOK_UP_BITS) - 1);
    rue_symbol second = symbols[rest];
    unsigned both = bits + (second & 63);
    if (!second || both > RUE_LOOK_UP_BITS) return pair;
    uint32_t mask = (1U << (second >> 16)) - 1, raw = index >> (RUE_LOOK_UP_BITS - both) & mask;
    return pair - bits + both + ((rue_symbol_pair)(second >> 8 & 255) << 32) +
           ((rue_symbol_pair)(uint16_t)rue_extend(raw, mask) << 48);
}

/* Most files have the tables of the file before. libjpeg has checked that their codes fit. */
static const struct rue_huffman *prepare_table(struct rue_huffman *table, const JHUFF_TBL *source, bool is_ac)
{
    if (table->is_built && memcmp(table->lengths + 1, source->bits + 1, RUE_CODE_BITS_MAX) == 0 &&
        memcmp(table->symbols, source->huffval, sizeof table->symbols) == 0)
        return table;
    table->is_ac = is_ac;
    table->is_built = true;
    memcpy(table->order, natural_order, sizeof natural_order);
    memcpy(table->lengths, source->bits, sizeof table->lengths);
    memcpy(table->symbols, source->huffval, sizeof table->symbols);
    if (!is_ac) return fill_symbols(table, table->one), table;
    rue_symbol symbols[1 << RUE_LOOK_UP_BITS];
    fill_symbols(table, symbols);
    for (uint32_t i = 0; i < 1 << RUE_LOOK_UP_BITS; i++) table->two[i] = make_pair(symbols, i);
    return table;
}

/* ---- the scan ---- */

/* Ss and Se: not a lossless image, either. */
static bool is_served(j_decompress_ptr decoder)
{
    const struct jpeg_source_mgr *source = decoder->src;
    return !decoder->progressive_mode && !decoder->arith_code && decoder->data_precision == 8 &&
           !jpeg_has_multiple_scans(decoder) && decoder->Ss == 0 &&
           decoder->Se == RUE_BLOCK_COEFFICIENTS - 1 && decoder->blocks_in_MCU <= RUE_MCU_BLOCKS_MAX &&
           decoder->unread_marker == 0 && source->bytes_in_buffer <= SCAN_BYTES_MAX;
}

static bool reserve(struct rue_baseline *baseline, size_t bytes)
{
    static const char purpose[] = "a scan without stuffed zeros";
    return rue_array_grow(&baseline->bytes, &baseline->bytes_room, bytes + RUE_SCAN_TAIL_BYTES, 1, purpose,
                          NULL) == RUE_OK &&
           rue_array_grow(&baseline->segment_ends, &baseline->segments_room, baseline->segments,
                          sizeof *baseline->segment_ends, purpose, NULL) == RUE_OK;
}

static void plan_blocks(struct rue_baseline *baseline, j_decompress_ptr decoder)
{
    struct rue_scan *scan = &baseline->scan;
    scan->blocks = decoder->blocks_in_MCU;
    for (int b = 0; b < scan->blocks; b++) {
        int component = decoder->MCU_membership[b];
        int dc = decoder->cur_comp_info[component]->dc_tbl_no,
            ac = decoder->cur_comp_info[component]->ac_tbl_no;
        scan->plan[b].component = component;
        scan->plan[b].dc = prepare_table(&baseline->dc[dc], decoder->dc_huff_tbl_ptrs[dc], false);
        scan->plan[b].ac = prepare_table(&baseline->ac[ac], decoder->ac_huff_tbl_ptrs[ac], true);
    }
}

static void count_segments(struct rue_baseline *baseline, j_decompress_ptr decoder)
{
    uint32_t mcus = decoder->MCUs_per_row * decoder->MCU_rows_in_scan;
    baseline->mcus_in_segment = decoder->restart_interval ? decoder->restart_interval : mcus;
    baseline->segments = (mcus - 1) / baseline->mcus_in_segment + 1;
}

/* Copies the segments. NULL: other markers than expected end them; else what is behind the end marker. */
static const uint8_t *unstuff_scan(struct rue_baseline *baseline, const struct jpeg_source_mgr *source)
{
    const uint8_t *in = source->next_input_byte, *end = in + source->bytes_in_buffer;
    uint8_t *out = baseline->bytes;
    for (uint32_t s = 0; s < baseline->segments; s++) {
        bool is_last = s + 1 == baseline->segments;
        int marker = baseline->kernels->unstuff(&in, end, &out);
        if (marker != (is_last ? JPEG_EOI : JPEG_RST0 + (int)(s % 8))) return NULL;
        baseline->segment_ends[s] = (uint32_t)(out - baseline->bytes);
    }
    memset(out, 0, RUE_SCAN_TAIL_BYTES);
    return in;
}

static void begin_segment(struct rue_baseline *baseline)
{
    struct rue_scan *scan = &baseline->scan;
    uint32_t begin = baseline->segment > 0 ? baseline->segment_ends[baseline->segment - 1] : 0;
    scan->reader = (struct rue_bit_reader){.at = baseline->bytes + begin};
    scan->end = baseline->bytes + baseline->segment_ends[baseline->segment++];
    memset(scan->predicted, 0, sizeof scan->predicted);
    baseline->until_restart = baseline->mcus_in_segment;
}

/* ---- in libjpeg's place ---- */

/* Lets libjpeg decode this MCU and all others, as if it had decoded those before. */
static boolean hand_over(j_decompress_ptr decoder, JBLOCKROW *blocks)
{
    struct rue_baseline *baseline = decoder->client_data;
    boolean (*decode)(j_decompress_ptr, JBLOCKROW *) = baseline->libjpeg.decode_mcu;
    baseline->is_used = false;
    ((struct entropy_decoder *)decoder->entropy)->decode_mcu = decode;
    *decoder->src = baseline->libjpeg.source;
    decoder->unread_marker = 0;
    for (uint32_t m = 0; m < baseline->libjpeg.mcus; m++) decode(decoder, NULL);
    for (int b = 0; blocks && b < decoder->blocks_in_MCU; b++) memset(blocks[b], 0, sizeof(JBLOCK));
    return decode(decoder, blocks);
}

/* NULL for blocks: they are skipped. */
static boolean decode_mcu(j_decompress_ptr decoder, JBLOCKROW *blocks)
{
    struct rue_baseline *baseline = decoder->client_data;
    if (baseline->until_restart == 0) {
        if (baseline->segment == baseline->segments) return hand_over(decoder, blocks);
        begin_segment(baseline);
    }
    if (!baseline->kernels->read_mcu(&baseline->scan, blocks)) return hand_over(decoder, blocks);
    baseline->until_restart--;
    baseline->libjpeg.mcus++;
    return TRUE;
}

static void begin_scan(j_decompress_ptr decoder)
{
    struct rue_baseline *baseline = decoder->client_data;
    struct entropy_decoder *entropy = (struct entropy_decoder *)decoder->entropy;
    struct jpeg_source_mgr *source = decoder->src;
    baseline->is_used = false;
    if (!is_served(decoder)) return;
    count_segments(baseline, decoder);
    if (baseline->segments > source->bytes_in_buffer / 2 || /* its markers */
        !reserve(baseline, source->bytes_in_buffer))
        return;
    const uint8_t *behind = unstuff_scan(baseline, source);
    if (!behind) return;
    plan_blocks(baseline, decoder);
    baseline->segment = 0;
    begin_segment(baseline);
    baseline->libjpeg.decode_mcu = entropy->decode_mcu;
    baseline->libjpeg.source = *source;
    baseline->libjpeg.mcus = 0;
    baseline->is_used = true;
    entropy->decode_mcu = decode_mcu;
    source->bytes_in_buffer -= (size_t)(behind - source->next_input_byte);
    source->next_input_byte = behind;
    decoder->unread_marker = JPEG_EOI;
}

/* ---- the check ---- */

enum { CHECK_SIDE = 16, CHECK_MCUS = 4 };

/* A grey image of CHECK_SIDE pixels a side. */
static const uint8_t check_image[] = {
    255, 216, 255, 219, 0,   67,  0,   20,  14,  15,  18,  15,  13,  20,  18,  16,  18,  23,  21,  20, 24,
    30,  50,  33,  30,  28,  28,  30,  61,  44,  46,  36,  50,  73,  64,  76,  75,  71,  64,  70,  69, 80,
    90,  115, 98,  80,  85,  109, 86,  69,  70,  100, 136, 101, 109, 119, 123, 129, 130, 129, 78,  96, 141,
    151, 140, 125, 150, 115, 126, 129, 124, 255, 192, 0,   11,  8,   0,   16,  0,   16,  1,   1,   17, 0,
    255, 196, 0,   22,  0,   1,   1,   1,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,  0,
    4,   5,   6,   255, 196, 0,   31,  16,  0,   1,   3,   4,   3,   1,   0,   0,   0,   0,   0,   0,  0,
    0,   0,   0,   2,   1,   4,   33,  0,   3,   5,   49,  17,  65,  97,  129, 255, 218, 0,   8,   1,  1,
    0,   0,   63,  0,   139, 142, 108, 81,  21,  170, 199, 54,  40,  138, 57,  91,  103, 138, 4,   87, 119,
    16,  79,  142, 70,  216, 201, 150, 244, 159, 54,  177, 237, 9,   222, 65,  222, 73,  22,  195, 80, 38,
    205, 73,  20,  73,  54,  87,  19,  158, 215, 168, 233, 61,  149, 175, 255, 217,
};

struct check {
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct decoder;
    jmp_buf trap;
};

_Noreturn static void spring_trap(j_common_ptr decoder)
{
    longjmp(((struct check *)decoder->err)->trap, 1);
}

static void ignore_message(j_common_ptr decoder, int level)
{
    (void)decoder, (void)level;
}

static void ignore_reset(j_common_ptr decoder)
{
    (void)decoder;
}

static bool run_check(struct check *check, uint8_t pixels[CHECK_SIDE][CHECK_SIDE])
{
    j_decompress_ptr decoder = &check->decoder;
    if (setjmp(check->trap)) return false;
    jpeg_create_decompress(decoder);
    jpeg_mem_src(decoder, check_image, sizeof check_image);
    jpeg_read_header(decoder, TRUE);
    jpeg_start_decompress(decoder);
    if (decoder->client_data) begin_scan(decoder);
    while (decoder->output_scanline < CHECK_SIDE)
        jpeg_read_scanlines(decoder, &(JSAMPROW){pixels[decoder->output_scanline]}, 1);
    jpeg_finish_decompress(decoder);
    return true;
}

/* Decodes the image, by `baseline` unless it is NULL. */
static bool decode_check_image(struct rue_baseline *baseline, uint8_t pixels[CHECK_SIDE][CHECK_SIDE])
{
    struct check check = {.errors = {.error_exit = spring_trap,
                                     .emit_message = ignore_message,
                                     .reset_error_mgr = ignore_reset}};
    check.decoder.err = &check.errors;
    check.decoder.client_data = baseline;
    bool is_decoded = run_check(&check, pixels);
    jpeg_destroy_decompress(&check.decoder);
    return is_decoded;
}

static pthread_once_t check_once = PTHREAD_ONCE_INIT;
static bool hook_works;

/* Another libjpeg than the one that this was built for may be loaded. */
static void check_hook(void)
{
    uint8_t expected[CHECK_SIDE][CHECK_SIDE], pixels[CHECK_SIDE][CHECK_SIDE];
    bool is_known = LIBJPEG_TURBO_VERSION_NUMBER >= KNOWN_FROM && LIBJPEG_TURBO_VERSION_NUMBER < KNOWN_BEFORE;
    struct rue_baseline *baseline = is_known ? calloc(1, sizeof *baseline) : NULL;
    if (!baseline) return;
    baseline->kernels = rue_kernels_best();
    hook_works = decode_check_image(NULL, expected) && decode_check_image(baseline, pixels) &&
                 baseline->is_used && baseline->libjpeg.mcus == CHECK_MCUS &&
                 memcmp(expected, pixels, sizeof pixels) == 0;
    rue_baseline_close(baseline);
}

/* ---- the interface ---- */

rue_status rue_baseline_open(const struct rue_kernels *kernels, struct rue_baseline **out, rue_error *error)
{
    struct rue_baseline *baseline = calloc(1, sizeof *baseline);
    if (!baseline) return rue_fail_memory(error, "a decoder of baseline scans", sizeof *baseline);
    baseline->kernels = kernels;
    *out = baseline;
    return RUE_OK;
}

void rue_baseline_close(struct rue_baseline *baseline)
{
    if (!baseline) return;
    free(baseline->bytes);
    free(baseline->segment_ends);
    free(baseline);
}

void rue_baseline_begin(j_decompress_ptr decoder)
{
    pthread_once(&check_once, check_hook);
    if (hook_works) begin_scan(decoder);
}

bool rue_baseline_is_used(const struct rue_baseline *baseline)
{
    return baseline->is_used;
}
