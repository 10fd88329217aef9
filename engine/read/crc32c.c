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

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t state = ~crc;
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
