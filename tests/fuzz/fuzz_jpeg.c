/* From JPEG bytes to a tensor, both ways of decoding and a random crop: a tensor, or a reason. */
#include <assert.h>
#include <stdlib.h>

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
    return 0;
}
