/* In place of NVIDIA's header of this name: rounds to nearest, ties to even, as the GPU does. */
#ifndef EMULATED_CUDA_BF16_H
#define EMULATED_CUDA_BF16_H

#include <stdint.h>
#include <string.h>

struct __nv_bfloat16 {
    uint16_t bits;

    __nv_bfloat16() = default;
    __nv_bfloat16(float value)
    {
        uint32_t all;
        memcpy(&all, &value, sizeof all);
        bits = (all & 0x7fffffff) > 0x7f800000 ? 0x7fff : (uint16_t)((all + 0x7fff + (all >> 16 & 1)) >> 16);
    }
    operator float() const
    {
        uint32_t all = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &all, sizeof value);
        return value;
    }
};

#endif
