#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "image.h"

/* Output (x, y) shows input (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). */
typedef double matrix[6];

static const double radian = M_PI / 180;

/* Moves the centre of m[0], m[1], m[3] and m[4] from the corner to the centre of the image. */
static void centre_matrix(const struct rue_image *image, matrix m)
{
    double x = image->width * 0.5, y = image->height * 0.5;
    m[2] = m[0] * -x + m[1] * -y + x;
    m[5] = m[3] * -x + m[4] * -y + y;
}

/* The inverse of a rotation by `degrees`, clockwise, and a scaling about the centre. torchvision,
 * functional._get_inverse_affine_matrix. */
static void set_affine(const struct rue_image *image, double degrees, double scale, matrix m)
{
    double angle = degrees * radian;
    m[0] = cos(angle) / scale;
    m[1] = sin(angle) / scale;
    m[3] = -sin(angle) / scale;
    m[4] = cos(angle) / scale;
    centre_matrix(image, m);
}

/* Pillow, Image.rotate: anticlockwise, with 15 digits after the point. */
static void set_rotation(const struct rue_image *image, double degrees, matrix m)
{
    double turn = fmod(degrees, 360), angle = -(turn < 0 ? turn + 360 : turn) * radian;
    m[0] = m[4] = rint(cos(angle) * 1e15) / 1e15;
    m[1] = rint(sin(angle) * 1e15) / 1e15;
    m[3] = -m[1];
    centre_matrix(image, m);
}

/* torchvision takes the angle of a shear (autoaugment._apply_op); timm has the tangent. */
static double shear_tangent(const struct rue_operation *operation)
{
    double tangent = (double)operation->value;
    return operation->more != RUE_SAMPLING_NEAREST ? tangent : tan(atan(tangent) * (180 / M_PI) * radian);
}

static void set_matrix(const struct rue_image *image, const struct rue_operation *operation, matrix m)
{
    bool relative = operation->more != RUE_SAMPLING_NEAREST;
    double value = (double)operation->value;
    memcpy(m, (matrix){1, 0, 0, 0, 1, 0}, sizeof(matrix));
    switch (operation->kind) {
    case RUE_OPERATION_SHEAR_X:
        m[1] = shear_tangent(operation);
        break;
    case RUE_OPERATION_SHEAR_Y:
        m[3] = shear_tangent(operation);
        break;
    case RUE_OPERATION_TRANSLATE_X:
        m[2] = relative ? -value * image->width : -value;
        break;
    case RUE_OPERATION_TRANSLATE_Y:
        m[5] = relative ? -value * image->height : -value;
        break;
    case RUE_OPERATION_ROTATE:
        set_rotation(image, value, m);
        break;
    default:
        set_affine(image, value, (double)operation->more, m);
    }
}

static int64_t fix16(double value)
{
    return (int64_t)floor(value * 65536.0 + 0.5);
}

/* Nearest input in 16.16 fixed point; black outside. Pillow, src/libImaging/Geometry.c, affine_fixed. */
static void map_nearest(const struct rue_image *image, const matrix m)
{
    const int64_t step[] = {fix16(m[0]), fix16(m[1]), fix16(m[3]), fix16(m[4])}, width = image->width;
    const uint64_t x_end = (uint64_t)width << 16, y_end = (uint64_t)image->height << 16;
    int64_t row_x = fix16(m[2] + m[0] * 0.5 + m[1] * 0.5), row_y = fix16(m[5] + m[3] * 0.5 + m[4] * 0.5);
    uint32_t *out = image->pixels;
    for (uint32_t i = 0; i < image->height; i++, row_x += step[1], row_y += step[3]) {
        int64_t x = row_x, y = row_y;
        for (uint32_t j = 0; j < image->width; j++, x += step[0], y += step[2]) {
            bool inside = (uint64_t)x < x_end && (uint64_t)y < y_end;
            *out++ = inside ? image->scratch[(y >> 16) * width + (x >> 16)] : 0;
        }
    }
}

/* Without rotation Pillow adds steps in double precision (ImagingScaleAffine). */
static void scale_nearest(const struct rue_image *image, const matrix m)
{
    uint32_t *out = image->pixels;
    double y = m[5] + m[4] * 0.5;
    for (uint32_t i = 0; i < image->height; i++, y += m[4]) {
        bool within = y >= 0 && y < image->height;
        const uint32_t *row = image->scratch + (within ? (size_t)y * image->width : 0);
        double x = m[2] + m[0] * 0.5;
        for (uint32_t j = 0; j < image->width; j++, x += m[0])
            *out++ = within && x >= 0 && x < image->width ? row[(size_t)x] : 0;
    }
}

typedef int32_t levels __attribute__((vector_size(16))); /* R, G, B and the unused byte */
typedef double reals __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

INLINE void load_levels(uint32_t pixel, levels *out)
{
    *out = ((int32_t)pixel >> (levels){0, 8, 16, 24}) & 255;
}

/* Pillow, Geometry.c, BICUBIC. Of levels, the coefficients are whole numbers. */
INLINE void cubic_of_levels(const uint32_t *row, const uint32_t at[4], double d, reals *out)
{
    levels a, b, c, e;
    load_levels(row[at[1]], &b);
    if (d == 0) {
        *out = __builtin_convertvector(b, reals);
        return;
    }
    load_levels(row[at[0]], &a);
    load_levels(row[at[2]], &c);
    load_levels(row[at[3]], &e);
    reals p1 = __builtin_convertvector(b, reals), p2 = __builtin_convertvector(c - a, reals),
          p3 = __builtin_convertvector(2 * (a - b) + c - e, reals),
          p4 = __builtin_convertvector(b - a - c + e, reals);
    *out = p1 + d * (p2 + d * (p3 + d * p4));
}

INLINE uint32_t clip_level(double level)
{
    return level <= 0 ? 0 : level >= 255 ? 255 : (uint32_t)(int32_t)level;
}

INLINE uint32_t clamp(int64_t at, uint32_t size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : (uint32_t)at;
}

INLINE uint32_t put_levels(const reals *level)
{
    return clip_level((*level)[0]) | clip_level((*level)[1]) << 8 | clip_level((*level)[2]) << 16;
}

/* Between rows; a row alone where the pixel lies on it, as in shears and translations along x. */
INLINE uint32_t cubic_pixel(const struct rue_image *image, double x, double y)
{
    int64_t left = (int64_t)floor(x), top = (int64_t)floor(y);
    double dx = x - (double)left, dy = y - (double)top;
    uint32_t at[4];
    reals v[4], level;
    for (int i = 0; i < 4; i++) at[i] = clamp(left - 1 + i, image->width);
    if (dy == 0) {
        cubic_of_levels(image->scratch + (size_t)clamp(top, image->height) * image->width, at, dx, &level);
        return put_levels(&level);
    }
    for (int i = 0; i < 4; i++)
        cubic_of_levels(image->scratch + (size_t)clamp(top - 1 + i, image->height) * image->width, at, dx,
                        &v[i]);
    reals p2 = -v[0] + v[2], p3 = 2 * (v[0] - v[1]) + v[2] - v[3], p4 = -v[0] + v[1] - v[2] + v[3];
    level = v[1] + dy * (p2 + dy * (p3 + dy * p4));
    return put_levels(&level);
}

/* Geometry.c, BILINEAR and bilinear_filter32RGB. */
INLINE uint32_t linear_pixel(const struct rue_image *image, double x, double y)
{
    int64_t left = (int64_t)floor(x), top = (int64_t)floor(y);
    double dx = x - (double)left, dy = y - (double)top;
    uint32_t from = clamp(left, image->width), to = clamp(left + 1, image->width);
    reals v[2];
    for (int i = 0; i < 2; i++) {
        const uint32_t *row = image->scratch + (size_t)clamp(top + i, image->height) * image->width;
        levels a, b;
        load_levels(row[from], &a);
        load_levels(row[to], &b);
        v[i] = __builtin_convertvector(a, reals) + __builtin_convertvector(b - a, reals) * dx;
    }
    reals level = v[0] + (v[1] - v[0]) * dy;
    return put_levels(&level);
}

/* Geometry.c, ImagingGenericTransform. */
INLINE void map_smooth(const struct rue_image *image, const matrix m,
                       uint32_t (*pixel)(const struct rue_image *image, double x, double y))
{
    uint32_t *out = image->pixels;
    for (uint32_t i = 0; i < image->height; i++)
        for (uint32_t j = 0; j < image->width; j++) {
            double x = m[0] * (j + 0.5) + m[1] * (i + 0.5) + m[2],
                   y = m[3] * (j + 0.5) + m[4] * (i + 0.5) + m[5];
            bool inside = x >= 0 && x < image->width && y >= 0 && y < image->height;
            *out++ = inside ? pixel(image, x - 0.5, y - 0.5) : image->fill;
        }
}

RUE_WIDE static void map_bicubic(const struct rue_image *image, const matrix m)
{
    map_smooth(image, m, cubic_pixel);
}

RUE_WIDE static void map_bilinear(const struct rue_image *image, const matrix m)
{
    map_smooth(image, m, linear_pixel);
}

void rue_image_map(const struct rue_image *image, const struct rue_operation *operation)
{
    matrix m;
    enum rue_sampling sampling =
        operation->kind == RUE_OPERATION_AFFINE ? RUE_SAMPLING_NEAREST : (enum rue_sampling)operation->more;
    set_matrix(image, operation, m);
    memcpy(image->scratch, image->pixels, image->count * sizeof *image->pixels);
    if (sampling == RUE_SAMPLING_BICUBIC)
        map_bicubic(image, m);
    else if (sampling == RUE_SAMPLING_BILINEAR)
        map_bilinear(image, m);
    else if (m[1] == 0 && m[3] == 0)
        scale_nearest(image, m);
    else
        map_nearest(image, m);
}
