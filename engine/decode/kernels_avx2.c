/* The loops for AVX2 with FMA and BMI2, which all such machines have. */
#include "kernels.h"

#ifdef __x86_64__
#    include <immintrin.h>
#    include <string.h>

#    include "baseline_scan.h"

#    define AVX2 __attribute__((target("avx2,fma,bmi,bmi2")))

static bool usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

AVX2 static inline __m256i load(const void *memory)
{
    return _mm256_loadu_si256(memory);
}

/* 16 bytes of each, as halves of the result. */
AVX2 static inline __m256i load_two(const uint8_t *a, const uint8_t *b)
{
    __m128i low = _mm_loadu_si128((const __m128i *)a), high = _mm_loadu_si128((const __m128i *)b);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Sums of products with the parts of the weights, of 32 bits. They may wrap around: what they make up
 * together does not. */
struct sums {
    __m256i upper, lower;
};

/* Adds the products of two taps, whose levels of one channel are beside each other. */
AVX2 static inline void add_two_taps(struct sums *sums, __m256i levels, const int16_t *upper)
{
    sums->upper = _mm256_add_epi32(sums->upper, _mm256_madd_epi16(levels, load(upper)));
    sums->lower = _mm256_add_epi32(sums->lower, _mm256_madd_epi16(levels, load(upper + RUE_SPREAD_LOWER)));
}

/* The levels of two outputs, 32 bits each, not yet clipped. `a` and `b`: their first taps. */
AVX2 static inline __m256i two_outputs(const uint8_t *a, const uint8_t *b, const int16_t *spread, size_t taps)
{
    const __m256i first = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1, /* -1: 0 */
                                           0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1),
                  last = _mm256_add_epi8(first, _mm256_set1_epi16(8));
    struct sums sums = {_mm256_setzero_si256(), _mm256_set1_epi32(RUE_WEIGHT_HALF)};
    for (size_t t = 0; t < taps; t += RUE_TAP_GROUP, spread += RUE_SPREAD_GROUP) {
        __m256i pixels = load_two(a + t * RUE_PIXEL_BYTES, b + t * RUE_PIXEL_BYTES);
        add_two_taps(&sums, _mm256_shuffle_epi8(pixels, first), spread);
        add_two_taps(&sums, _mm256_shuffle_epi8(pixels, last), spread + RUE_SPREAD_LAST);
    }
    __m256i upper = _mm256_slli_epi32(sums.upper, RUE_WEIGHT_LOWER_BITS);
    return _mm256_srai_epi32(_mm256_add_epi32(upper, sums.lower), RUE_WEIGHT_BITS);
}

AVX2 static void horizontal(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
    size_t two = axis->taps / RUE_TAP_GROUP * RUE_SPREAD_GROUP;
    const int16_t *spread = axis->spread;
    for (size_t i = 0; i < axis->outputs; i += RUE_OUTPUT_GROUP, spread += 2 * two) {
        const uint8_t *at[RUE_OUTPUT_GROUP];
        for (size_t k = 0; k < RUE_OUTPUT_GROUP; k++)
            at[k] = row + (size_t)(axis->first[i + k] - column) * RUE_PIXEL_BYTES;
        __m256i words = _mm256_packus_epi32(two_outputs(at[0], at[1], spread, axis->taps),
                                            two_outputs(at[2], at[3], spread + two, axis->taps));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, words), order);
        _mm_storeu_si128((__m128i *)(line + i * RUE_PIXEL_BYTES), _mm256_castsi256_si128(bytes));
    }
}

/* Written with intrinsics, because compilers make the portable loop 4 times slower. */
AVX2 static void vertical(const int32_t *weights, size_t count, const uint8_t *lines, size_t line_bytes,
                          uint8_t *line)
{
    enum { PARTS = RUE_LINE_BLOCK_BYTES / 8 };
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t at = 0; at < line_bytes; at += RUE_LINE_BLOCK_BYTES) {
        __m256i sums[PARTS];
        for (size_t k = 0; k < PARTS; k++) sums[k] = _mm256_set1_epi32(RUE_WEIGHT_HALF);
        for (size_t t = 0; t < count; t++) {
            const uint8_t *levels = lines + t * line_bytes + at;
            __m256i weight = _mm256_set1_epi32(weights[t]);
            for (size_t k = 0; k < PARTS; k++) {
                __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(levels + 8 * k)));
                sums[k] = _mm256_add_epi32(sums[k], _mm256_mullo_epi32(wide, weight));
            }
        }
        for (size_t k = 0; k < PARTS; k++) sums[k] = _mm256_srai_epi32(sums[k], RUE_WEIGHT_BITS);
        __m256i bytes =
            _mm256_packus_epi16(_mm256_packus_epi32(sums[0], sums[1]), _mm256_packus_epi32(sums[2], sums[3]));
        _mm256_storeu_si256((__m256i *)(line + at), _mm256_permutevar8x32_epi32(bytes, order));
    }
}

/* Sorts eight pixels into 8 bytes of each channel: R, G, B, X. */
AVX2 static inline __m256i gather_channels(const uint8_t *pixels)
{
    const __m256i within = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12,
                                            1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i across = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_shuffle_epi8(load(pixels), within);
    return _mm256_permutevar8x32_epi32(bytes, across);
}

AVX2 static void planes(const uint8_t *line, size_t width, size_t plane, uint8_t *out)
{
    size_t x = 0;
    for (; x + 8 <= width; x += 8) {
        __m256i channels = gather_channels(line + x * RUE_PIXEL_BYTES);
        __m128i red_green = _mm256_castsi256_si128(channels), blue = _mm256_extracti128_si256(channels, 1);
        _mm_storel_epi64((__m128i *)(out + x), red_green);
        _mm_storel_epi64((__m128i *)(out + plane + x), _mm_unpackhi_epi64(red_green, red_green));
        _mm_storel_epi64((__m128i *)(out + 2 * plane + x), blue);
    }
    if (x < width) rue_kernels_portable.planes(line + x * RUE_PIXEL_BYTES, width - x, plane, out + x);
}

/* a / b, correctly rounded, from r = 1 / b (Markstein 1990): q = a * r, then one Newton step with an exact
 * remainder. rue_kernels_normal tries all levels. */
AVX2 static inline __m256 divide(__m256 a, __m256 b, __m256 r)
{
    __m256 q = _mm256_mul_ps(a, r);
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(b, q, a), r, q);
}

struct lanes {
    __m256 mean, std, reciprocal;
};

AVX2 static inline struct lanes spread_normal(const struct rue_normal *normal, int channel)
{
    return (struct lanes){_mm256_set1_ps(normal->mean[channel]), _mm256_set1_ps(normal->std[channel]),
                          _mm256_set1_ps(1 / normal->std[channel])};
}

/* Normalises the eight levels in the low bytes of `levels`. */
AVX2 static inline __m256 normalize_8(__m128i levels, const struct lanes *normal)
{
    const __m256 full = _mm256_set1_ps(255.0F), reciprocal = _mm256_set1_ps(1 / 255.0F);
    __m256 unit = divide(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(levels)), full, reciprocal);
    return divide(_mm256_sub_ps(unit, normal->mean), normal->std, normal->reciprocal);
}

AVX2 static void normalized_planes(const struct rue_normal *normal, const uint8_t *line, size_t width,
                                   size_t plane, float *out)
{
    const struct lanes red = spread_normal(normal, 0), green = spread_normal(normal, 1),
                       blue = spread_normal(normal, 2);
    size_t x = 0;
    for (; x + 8 <= width; x += 8) {
        __m256i channels = gather_channels(line + x * RUE_PIXEL_BYTES);
        __m128i low = _mm256_castsi256_si128(channels), high = _mm256_extracti128_si256(channels, 1);
        _mm256_storeu_ps(out + x, normalize_8(low, &red));
        _mm256_storeu_ps(out + plane + x, normalize_8(_mm_unpackhi_epi64(low, low), &green));
        _mm256_storeu_ps(out + 2 * plane + x, normalize_8(high, &blue));
    }
    if (x < width)
        rue_kernels_portable.normalized_planes(normal, line + x * RUE_PIXEL_BYTES, width - x, plane, out + x);
}

enum { LINE = 64 /* bytes of a cache line */ };

static bool is_aligned(const void *memory)
{
    return (uintptr_t)memory % LINE == 0;
}

AVX2 static void copy(const void *from, size_t bytes, void *to)
{
    size_t lines = is_aligned(to) ? bytes / LINE : 0;
    const __m256i *in = from;
    __m256i *out = to;
    for (size_t i = 0; i < lines; i++, in += 2, out += 2) {
        __m256i low = load(in), high = load(in + 1);
        _mm256_stream_si256(out, low);
        _mm256_stream_si256(out + 1, high);
    }
    _mm_sfence();
    memcpy(out, in, bytes - lines * LINE);
}

AVX2 static void normalize(const struct rue_normal *normal, int channel, const uint8_t *levels, size_t count,
                           float *out)
{
    const struct lanes lanes = spread_normal(normal, channel);
    size_t i = 0;
    for (; is_aligned(out) && i + 8 <= count; i += 8)
        _mm256_stream_ps(out + i, normalize_8(_mm_loadl_epi64((const __m128i *)(levels + i)), &lanes));
    _mm_sfence();
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, normalize_8(_mm_loadl_epi64((const __m128i *)(levels + i)), &lanes));
    if (i < count) rue_kernels_portable.normalize(normal, channel, levels + i, count - i, out + i);
}

AVX2 static int unstuff(const uint8_t **in, const uint8_t *end, uint8_t **out)
{
    enum { AT_ONCE = 32 };
    const __m256i ones = _mm256_set1_epi8(-1);
    const uint8_t *from = *in;
    uint8_t *to = *out;
    int marker = 0;
    while (end - from > AT_ONCE && marker == 0) {
        __m256i bytes = load(from);
        uint32_t found = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, ones));
        _mm256_storeu_si256((__m256i *)to, bytes);
        unsigned before = _tzcnt_u32(found); /* 32: none */
        from += before;
        to += before;
        if (before == AT_ONCE) continue;
        marker = from[1];
        from += 2;
        to += marker == 0;
    }
    *in = from;
    *out = to;
    return marker ? marker : rue_kernels_portable.unstuff(in, end, out);
}

AVX2 static bool read_mcu(struct rue_scan *scan, int16_t (**blocks)[RUE_BLOCK_COEFFICIENTS])
{
    return rue_scan_read_mcu(scan, blocks);
}

const struct rue_kernels rue_kernels_avx2 = {
    .name = "avx2",
    .usable = usable,
    .horizontal = horizontal,
    .vertical = vertical,
    .planes = planes,
    .normalized_planes = normalized_planes,
    .copy = copy,
    .normalize = normalize,
    .unstuff = unstuff,
    .read_mcu = read_mcu,
};
#endif
