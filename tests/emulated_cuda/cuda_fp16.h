/* In place of NVIDIA's header of this name: rounds to nearest, ties to even, as the GPU does. */
#ifndef EMULATED_CUDA_FP16_H
#define EMULATED_CUDA_FP16_H

#include <stdint.h>
#include <string.h>

struct __half {
    uint16_t bits;

    __half() = default;
    __half(float value)
    {
        uint32_t all, sign;
        memcpy(&all, &value, sizeof all);
        sign = all >> 16 & 0x8000, all &= 0x7fffffff;
        if (all > 0x7f800000)
            bits = (uint16_t)(sign | 0x7fff); /* not a number */
        else if (all >= 0x477ff000)
            bits = (uint16_t)(sign | 0x7c00); /* 65520 and more */
        else if (all < 0x38800000)
            bits = (uint16_t)(sign | small(all));
        else
            bits = (uint16_t)(sign | ((all - 0x38000000 + 0xfff + (all >> 13 & 1)) >> 13));
    }
    operator float() const
    {
        uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
        if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)fraction / 16777216.0f;
        uint32_t all = sign | fraction << 13 | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23);
        float value;
        memcpy(&value, &all, sizeof value);
        return value;
    }

  private:
    /* Subnormal numbers, of 2^-24 each. */
    static uint32_t small(uint32_t all)
    {
        float value;
        memcpy(&value, &all, sizeof value);
        float scaled = value * 16777216.0f, whole = (float)(uint32_t)scaled, rest = scaled - whole;
        uint32_t count = (uint32_t)whole;
        return count + (rest > 0.5f || (rest == 0.5f && count % 2));
    }
};

#endif
