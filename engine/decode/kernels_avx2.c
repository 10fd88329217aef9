/* The loops for AVX2 with FMA and BMI2, which all such machines have. */
#include "kernels.h"

#ifdef __x86_64__
#    include <immintrin.h>
#    include <string.h>

#    include "baseline_scan.h"
#    include "vertical_loops.h"

#    define AVX2 __attribute__((target("avx2,fma,bmi,bmi2")))

enum { LANES = RUE_TAP_GROUP * RUE_PIXEL_BYTES }; /* bytes of a group of taps */

static bool usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

/* Multiplies 8 bytes, two taps, with their weights: 8 products. */
AVX2 static inline __m256i two_taps(const uint8_t *pixels, const int32_t *spread)
{
    __m256i levels = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)pixels));
    return _mm256_mullo_epi32(levels, _mm256_loadu_si256((const __m256i *)spread));
}

/* Sums of the even taps of one output in the low half, of the odd taps in the high half. */
AVX2 static inline __m256i half_sums(const uint8_t *pixels, const int32_t *spread, size_t lanes)
{
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t at = 0; at < lanes; at += LANES) {
        low = _mm256_add_epi32(low, two_taps(pixels + at, spread + at));
        high = _mm256_add_epi32(high, two_taps(pixels + at + LANES / 2, spread + at + LANES / 2));
    }
    return _mm256_add_epi32(low, high);
}

/* The levels of two outputs from their half sums, 32 bits each, not yet clipped. */
AVX2 static inline __m256i two_levels(__m256i a, __m256i b)
{
    __m256i sums =
        _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
    return _mm256_srai_epi32(_mm256_add_epi32(sums, _mm256_set1_epi32(RUE_WEIGHT_HALF)), RUE_WEIGHT_BITS);
}

/* Written with intrinsics, because compilers make the portable loop 4 times slower. */
AVX2 static void horizontal(const struct rue_axis *axis, const uint8_t *row, uint32_t column, uint8_t *line)
{
    size_t lanes = axis->taps * RUE_PIXEL_BYTES;
    const int32_t *spread = axis->spread;
    for (size_t i = 0; i < axis->outputs; i += RUE_OUTPUT_GROUP, spread += RUE_OUTPUT_GROUP * lanes) {
        __m256i sums[RUE_OUTPUT_GROUP];
        for (size_t k = 0; k < RUE_OUTPUT_GROUP; k++)
            sums[k] = half_sums(row + (size_t)(axis->first[i + k] - column) * RUE_PIXEL_BYTES,
                                spread + k * lanes, lanes);
        __m256i words = _mm256_packus_epi32(two_levels(sums[0], sums[2]), two_levels(sums[1], sums[3]));
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0x08);
        _mm_storeu_si128((__m128i *)(line + i * RUE_PIXEL_BYTES), _mm256_castsi256_si128(bytes));
    }
}

AVX2 static void vertical(const int32_t *weights, size_t count, const uint8_t *lines, size_t line_bytes,
                          uint8_t *line)
{
    rue_vertical_loops(weights, count, lines, line_bytes, line);
}

/* Sorts eight pixels into 8 bytes of each channel: R, G, B, X. */
AVX2 static inline __m256i gather_channels(const uint8_t *pixels)
{
    const __m256i within = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12,
                                            1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i across = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)pixels), within);
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
        __m256i low = _mm256_loadu_si256(in), high = _mm256_loadu_si256(in + 1);
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
        __m256i bytes = _mm256_loadu_si256((const __m256i *)from);
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
