#include "crc32c.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
        table[i] = crc;
    }
}

uint32_t rue_crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
    pthread_once(&table_once, fill_table);
    const unsigned char *at = data;
    crc = ~crc;
    while (bytes--) crc = crc >> 8 ^ table[(crc ^ *at++) & 255];
    return ~crc;
}

#ifdef __x86_64__

/* The instruction takes three cycles, and one can be begun in each: three lanes side by side. */
enum { LANES = 3, LANE_BYTES = 2048 };

static uint32_t skip_table[4][256]; /* of each byte of a state: what it is after LANE_BYTES zeros */
static pthread_once_t skip_once = PTHREAD_ONCE_INIT;

static uint32_t skip_slowly(uint32_t state)
{
    for (int i = 0; i < LANE_BYTES; i++) state = state >> 8 ^ table[state & 255];
    return state;
}

/* A state after zeros is linear in the state: bits can be followed one by one. */
static void fill_skip_table(void)
{
    pthread_once(&table_once, fill_table);
    for (int bit = 0; bit < 32; bit++) {
        uint32_t after = skip_slowly(UINT32_C(1) << bit), *own = skip_table[bit / 8];
        for (uint32_t value = 0; value < 256; value++)
            if (value >> bit % 8 & 1) own[value] ^= after;
    }
}

/* The state behind LANE_BYTES zeros. */
static uint32_t skip(uint32_t state)
{
    return skip_table[0][state & 255] ^ skip_table[1][state >> 8 & 255] ^ skip_table[2][state >> 16 & 255] ^
           skip_table[3][state >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t three_lanes(uint32_t state, const unsigned char *at)
{
    uint64_t lanes[LANES] = {state, 0, 0}, words[LANES];
    for (int i = 0; i < LANE_BYTES; i += 8) {
        for (int lane = 0; lane < LANES; lane++) memcpy(&words[lane], at + lane * LANE_BYTES + i, 8);
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] = __builtin_ia32_crc32di(lanes[lane], words[lane]);
    }
    return skip(skip((uint32_t)lanes[0]) ^ (uint32_t)lanes[1]) ^ (uint32_t)lanes[2];
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t state = ~crc;
    if (bytes >= LANES * LANE_BYTES) pthread_once(&skip_once, fill_skip_table);
    for (; bytes >= LANES * LANE_BYTES; bytes -= LANES * LANE_BYTES, at += LANES * LANE_BYTES)
        state = three_lanes((uint32_t)state, at);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        state = __builtin_ia32_crc32di(state, word);
    }
    while (bytes--) state = __builtin_ia32_crc32qi((uint32_t)state, *at++);
    return ~(uint32_t)state;
}

uint32_t rue_crc32c(uint32_t crc, const void *data, size_t bytes)
{
    if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42(crc, data, bytes);
    return rue_crc32c_portable(crc, data, bytes);
}

#else

uint32_t rue_crc32c(uint32_t crc, const void *data, size_t bytes)
{
    return rue_crc32c_portable(crc, data, bytes);
}

#endif
