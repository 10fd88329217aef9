/* From JPEG bytes to a tensor, both ways of decoding and a random crop: a tensor, or a reason. Then to the
 * same pixels and the same reason with rue's decoder of baseline scans and without it. */
#include <assert.h>
#include <stdlib.h>

#include "jpeg_parts.h"
#include "transform.h"

enum { MAX_PIXELS = 1 << 18 };

/* Two views of different sizes. */
static void crop_randomly(const unsigned char *data, size_t bytes)
{
    static unsigned char levels[2][RUE_TENSOR_ITEMS];
    static struct rue_transform *transform;
    struct rue_views views;
    if (rue_views_parse("mild,mild@24x31", &views, NULL) != RUE_OK) abort();
    if (!transform &&
        rue_transform_open(&(struct rue_transform_options){MAX_PIXELS, RUE_DECODE_EXACT,
                                                           rue_geometry_default(), .views = &views},
                           &transform, NULL) != RUE_OK)
        abort();
    const struct rue_training training = {{.seed = 1}, bytes};
    rue_error error = {0};
    rue_status status = rue_transform_train(transform, data, bytes, &training, RUE_UINT8,
                                            (void *[]){levels[0], levels[1]}, &error);
    assert(status == RUE_OK || (status == error.status && error.message[0]));
}

static void compare_decoders(const unsigned char *data, size_t bytes)
{
    static struct rue_jpeg *plain, *levels[2];
    struct rue_jpeg **own = &levels[bytes % 2];
    const struct rue_kernels *kernels = bytes % 2 ? rue_kernels_best() : &rue_kernels_portable;
    if (!plain && rue_jpeg_open(MAX_PIXELS, 0, NULL, &plain, NULL) != RUE_OK) abort();
    if (!*own && rue_jpeg_open(MAX_PIXELS, 0, kernels, own, NULL) != RUE_OK) abort();
    const struct jpeg_part parts[] = {{0}, {.short_side = 8, .left = 11, .width = 23, .top = 9}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct jpeg_result a = jpeg_decode_part(plain, data, bytes, parts[i]),
                           b = jpeg_decode_part(*own, data, bytes, parts[i]);
        if (jpeg_difference(&a, &b)) abort();
        free(a.rows);
        free(b.rows);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    static struct rue_transform *transforms[RUE_DECODE_COUNT];
    static unsigned char levels[RUE_TENSOR_ITEMS];
    for (enum rue_decode decode = 0; decode < RUE_DECODE_COUNT; decode++) {
        rue_error error = {0};
        struct rue_transform **transform = &transforms[decode];
        if (!*transform &&
            rue_transform_open(&(struct rue_transform_options){MAX_PIXELS, decode, rue_geometry_default(),
                                                               (enum rue_orientation)decode},
                               transform, NULL) != RUE_OK)
            abort();
        rue_status status = rue_transform_jpeg(*transform, data, bytes, RUE_UINT8, levels, &error);
        assert(status == RUE_OK || (status == error.status && error.message[0]));
    }
    crop_randomly(data, bytes);
    if (bytes >= 2 && data[0] == 0xFF && data[1] == 0xD8) compare_decoders(data, bytes);
    return 0;
}
