/* WebP, by libwebp: what WebPAnimDecoder, which Pillow uses, gives for the first frame. Around a frame that
 * is smaller than the canvas, pixels are black. */
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "whole.h"

static rue_status fail_truncated(rue_error *error)
{
    return rue_fail(error, RUE_DATA, "is a WebP file that is truncated");
}

static rue_status fail_damaged(rue_error *error)
{
    return rue_fail(error, RUE_DATA, "is a WebP file that cannot be decoded: it is damaged");
}

static rue_status open_webp(struct rue_bytes data, WebPDemuxer **out, rue_error *error)
{
    const WebPData all = {data.at, data.count};
    WebPDemuxState state;
    *out = WebPDemuxPartial(&all, &state);
    if (*out && state == WEBP_DEMUX_DONE) return RUE_OK;
    WebPDemuxDelete(*out);
    *out = NULL;
    return state == WEBP_DEMUX_PARSE_ERROR ? fail_damaged(error) : fail_truncated(error);
}

static rue_status measure_webp(struct rue_bytes data, uint32_t *width, uint32_t *height, rue_error *error)
{
    WebPDemuxer *file;
    rue_status status = open_webp(data, &file, error);
    if (status != RUE_OK) return status;
    *width = WebPDemuxGetI(file, WEBP_FF_CANVAS_WIDTH);
    *height = WebPDemuxGetI(file, WEBP_FF_CANVAS_HEIGHT);
    if (WebPDemuxGetI(file, WEBP_FF_FRAME_COUNT) == 0)
        status = rue_fail(error, RUE_DATA, "is a WebP file without an image");
    WebPDemuxDelete(file);
    return status;
}

/* libwebp checks that the frame lies within the canvas. */
static rue_status decode_frame(const WebPIterator *frame, uint32_t width, uint8_t *pixels, rue_error *error)
{
    WebPDecoderConfig config;
    size_t stride = (size_t)width * RUE_IMAGE_PIXEL_BYTES;
    if (!WebPInitDecoderConfig(&config)) return rue_fail(error, RUE_INTERNAL, "libwebp has another version");
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba =
        pixels + (size_t)frame->y_offset * stride + (size_t)frame->x_offset * RUE_IMAGE_PIXEL_BYTES;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size =
        stride * (size_t)(frame->height - 1) + (size_t)frame->width * RUE_IMAGE_PIXEL_BYTES;
    switch (WebPDecode(frame->fragment.bytes, frame->fragment.size, &config)) {
    case VP8_STATUS_OK:
        return RUE_OK;
    case VP8_STATUS_OUT_OF_MEMORY:
        return rue_fail(error, RUE_MEMORY, "cannot be decoded: out of memory for %d x %d pixels",
                        frame->width, frame->height);
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return fail_truncated(error);
    default:
        return fail_damaged(error);
    }
}

static rue_status decode_webp(struct rue_bytes data, uint32_t width, uint32_t height, uint8_t *pixels,
                              rue_error *error)
{
    WebPDemuxer *file;
    WebPIterator frame;
    rue_status status = open_webp(data, &file, error);
    if (status != RUE_OK) return status;
    if (WebPDemuxGetFrame(file, 1, &frame)) {
        if ((uint32_t)frame.width != width || (uint32_t)frame.height != height)
            memset(pixels, 0, (size_t)width * height * RUE_IMAGE_PIXEL_BYTES);
        status = decode_frame(&frame, width, pixels, error);
        WebPDemuxReleaseIterator(&frame);
    } else {
        status = fail_damaged(error);
    }
    WebPDemuxDelete(file);
    return status;
}

static bool webp_ends(struct rue_bytes data)
{
    return rue_whole_u32le(data.at + 4) <= data.count - 8;
}

static struct rue_bytes find_webp_exif(struct rue_bytes data)
{
    WebPDemuxer *file;
    WebPChunkIterator chunk;
    struct rue_bytes exif = {0};
    if (open_webp(data, &file, NULL) != RUE_OK) return exif;
    if (WebPDemuxGetChunk(file, "EXIF", 1, &chunk)) {
        exif = (struct rue_bytes){chunk.chunk.bytes, chunk.chunk.size};
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    WebPDemuxDelete(file);
    return exif;
}

const struct rue_whole_ops rue_whole_webp = {measure_webp, decode_webp, webp_ends, find_webp_exif};
