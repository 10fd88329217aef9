/* The inner loops of baseline.c: the blocks of one MCU from the bytes of a segment, which have no stuffed
 * zeros, and zeros behind. Compiled once for each level of SIMD (kernels.h).
 *
 * Three things make it fast. One look-up gives two symbols in most cases. Bits are refilled eight bytes at a
 * time without a branch (F. Giesen on reading bits, fgiesen.wordpress.com, part 2, variant 4). There is one
 * branch for each look-up: an end of block, or a look-up that does not suffice, adds more coefficients than a
 * block has, and so ends the loop. */
#ifndef RUE_BASELINE_SCAN_H
#define RUE_BASELINE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    RUE_LOOK_UP_BITS = 10,
    RUE_CODE_BITS_MAX = 16,
    RUE_MCU_BLOCKS_MAX = 10,
    RUE_BLOCK_COEFFICIENTS = 64,
    /* What is added to the number of coefficients for an end of block, and where a look-up does not suffice:
     * sums are 129 to 191, and from 193. */
    RUE_END_OF_BLOCK = 128,
    RUE_LOOK_UP_FAILED = 192,
    RUE_PAIR_BITS_MAX = RUE_LOOK_UP_BITS + 15, /* a code, and the longest value */
    /* More than a block reads behind its segment until that is noticed. */
    RUE_SCAN_TAIL_BYTES = 320,
};

/* A symbol: bits of its code and value together (0 to 5); coefficients that it adds, those before it that are
 * 0 included (8 to 15); bits of its value (16 to 19). 0: no code begins so. */
typedef uint32_t rue_symbol;

/* One or two symbols: bits of both (0 to 5). Of the first: coefficients that it adds (8 to 15), a mask of its
 * value (16 to 31), 64 - its bits (40 to 45). Of the second: coefficients that it adds (32 to 39; 0: there is
 * none) and its value (48 to 63). */
typedef uint64_t rue_symbol_pair;

struct rue_huffman {
    /* Place in a block by the number of coefficients up to it. From 65: that of DC, which is written last.
     * Here, because then the loop needs no register for it. */
    uint8_t order[256];
    union {
        rue_symbol one[1 << RUE_LOOK_UP_BITS];      /* DC */
        rue_symbol_pair two[1 << RUE_LOOK_UP_BITS]; /* AC */
    };
    int32_t last[RUE_CODE_BITS_MAX + 1];   /* largest code of each length; -1: there is none */
    int32_t offset[RUE_CODE_BITS_MAX + 1]; /* from a code to the index of its symbol */
    bool is_ac, is_built;
    uint8_t lengths[RUE_CODE_BITS_MAX + 1]; /* codes of each length, as in the file */
    uint8_t symbols[256];
};

struct rue_bit_reader {
    uint64_t bits;  /* the next ones, from the top */
    uint64_t count; /* of them, in the low 6 bits */
    const uint8_t *at;
};

struct rue_scan {
    struct rue_bit_reader reader;
    const uint8_t *end; /* of the segment */
    struct {
        const struct rue_huffman *dc, *ac;
        int component;
    } plan[RUE_MCU_BLOCKS_MAX];
    int blocks;                                  /* of an MCU */
    int32_t predicted[4];                        /* DC of each component */
    int16_t unwanted[1][RUE_BLOCK_COEFFICIENTS]; /* where skipped blocks are written */
};

#define INLINE static inline __attribute__((always_inline))

/* Fills all 64 bits, and counts at least 56 of them. */
INLINE void rue_bits_refill(struct rue_bit_reader *reader)
{
    uint64_t word;
    memcpy(&word, reader->at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    reader->bits |= word >> (reader->count & 63);
    reader->at += ~reader->count >> 3 & 7;
    reader->count |= 56;
}

/* `bits`: in the low 6 bits, 1 to 63. */
INLINE void rue_bits_drop(struct rue_bit_reader *reader, uint64_t bits)
{
    reader->bits <<= bits & 63;
    reader->count -= bits;
}

INLINE uint64_t rue_bits_index(const struct rue_bit_reader *reader)
{
    return reader->bits >> (64 - RUE_LOOK_UP_BITS);
}

/* The value of `raw`, of which `mask` has the bits. A first bit of 0 means a negative value (T.81, F.2.2.1).
 * Not written as a branch, which would be mispredicted half of the time. */
INLINE int32_t rue_extend(uint32_t raw, uint32_t mask)
{
    uint32_t is_negative = (uint32_t)((int32_t)(raw - (mask >> 1) - 1) >> 31);
    return (int32_t)(raw - (mask & is_negative));
}

INLINE rue_symbol rue_symbol_make(unsigned symbol, unsigned length, bool is_ac)
{
    unsigned run = is_ac ? symbol >> 4 : 0, size = symbol & 15;
    unsigned added = !is_ac || size > 0 || run == 15 ? run + 1 : RUE_END_OF_BLOCK;
    return (length + size) | added << 8 | size << 16;
}

/* The symbol at the top of `bits`, whatever the length of its code. */
static inline rue_symbol rue_huffman_find(const struct rue_huffman *table, uint64_t bits)
{
    for (unsigned length = 1; length <= RUE_CODE_BITS_MAX; length++) {
        int32_t code = (int32_t)(bits >> (64 - length));
        if (code > table->last[length]) continue;
        return rue_symbol_make(table->symbols[(code + table->offset[length]) & 255], length, table->is_ac);
    }
    return 0;
}

/* Takes a symbol and its value from the bits. */
INLINE int32_t rue_take_value(struct rue_bit_reader *reader, rue_symbol symbol)
{
    uint32_t mask = (1U << (symbol >> 16)) - 1;
    int32_t value = rue_extend((uint32_t)(reader->bits >> (-symbol & 63)) & mask, mask);
    rue_bits_drop(reader, symbol & 63);
    return value;
}

INLINE bool rue_read_dc(struct rue_bit_reader *reader, const struct rue_huffman *table, int32_t *predicted)
{
    rue_bits_refill(reader);
    rue_symbol symbol = table->one[rue_bits_index(reader)];
    if (__builtin_expect(!symbol, 0) && !(symbol = rue_huffman_find(table, reader->bits))) return false;
    return !__builtin_add_overflow(*predicted, rue_take_value(reader, symbol), predicted);
}

/* Numbers of coefficients: before a look-up, after its first symbol, after both. */
struct rue_progress {
    uint64_t before, first, both;
};

/* Writes the values of a pair. The second one comes first: without one, its place is that of the first.
 * True: the block ends here, or the look-up does not suffice. */
INLINE bool rue_write_pair(const struct rue_bit_reader *reader, const struct rue_huffman *table,
                           rue_symbol_pair pair, int16_t *block, struct rue_progress *progress)
{
    uint32_t mask = (uint16_t)(pair >> 16), raw = (uint32_t)(reader->bits >> (pair >> 40 & 63)) & mask;
    progress->first = progress->before + (pair >> 8 & 255);
    progress->both = progress->first + (pair >> 32 & 255);
    block[table->order[progress->both]] = (int16_t)(pair >> 48);
    block[table->order[progress->first]] = (int16_t)rue_extend(raw, mask);
    return progress->both >= RUE_BLOCK_COEFFICIENTS;
}

_Static_assert(2 * RUE_PAIR_BITS_MAX <= 56 && 2 * RUE_PAIR_BITS_MAX + RUE_LOOK_UP_BITS <= 64,
               "two pairs and the next look-up need one refill");

/* Reads pairs until rue_write_pair returns true; that pair is not dropped. The index of a look-up does not
 * wait for the refill before it. */
INLINE rue_symbol_pair rue_read_pairs(struct rue_bit_reader *reader, const struct rue_huffman *table,
                                      int16_t *block, struct rue_progress *progress)
{
    rue_bits_refill(reader);
    rue_symbol_pair pair = table->two[rue_bits_index(reader)];
    for (;;) {
        if (rue_write_pair(reader, table, pair, block, progress)) return pair;
        rue_bits_drop(reader, pair);
        progress->before = progress->both;
        pair = table->two[rue_bits_index(reader)];
        if (rue_write_pair(reader, table, pair, block, progress)) return pair;
        rue_bits_drop(reader, pair);
        progress->before = progress->both;
        pair = table->two[rue_bits_index(reader)];
        rue_bits_refill(reader);
    }
}

/* Reads the coefficients after DC. False: damaged. */
INLINE bool rue_read_ac(struct rue_bit_reader *from, const struct rue_huffman *table, int16_t *block)
{
    struct rue_bit_reader reader = *from;
    struct rue_progress progress = {.before = 1};
    uint64_t count;
    do {
        rue_symbol_pair pair = rue_read_pairs(&reader, table, block, &progress);
        if (__builtin_expect(progress.first < RUE_LOOK_UP_FAILED, 1)) {
            /* If the first symbol fills the block, the bits of the second belong to the next one. */
            bool is_full = progress.first == RUE_BLOCK_COEFFICIENTS;
            count = is_full ? progress.first : progress.both;
            rue_bits_drop(&reader, is_full ? -(pair >> 40) & 63 : pair);
            break;
        }
        rue_bits_refill(&reader);
        rue_symbol symbol = rue_huffman_find(table, reader.bits);
        if (!symbol) return false;
        count = progress.before += symbol >> 8 & 255;
        block[table->order[count]] = (int16_t)rue_take_value(&reader, symbol);
    } while (count < RUE_BLOCK_COEFFICIENTS);
    *from = reader;
    return count == RUE_BLOCK_COEFFICIENTS || (count > RUE_END_OF_BLOCK && count < RUE_LOOK_UP_FAILED);
}

/* read_mcu of struct rue_kernels. */
INLINE bool rue_scan_read_mcu(struct rue_scan *scan, int16_t (**blocks)[RUE_BLOCK_COEFFICIENTS])
{
    struct rue_bit_reader reader = scan->reader;
    for (int b = 0; b < scan->blocks; b++) {
        int16_t *block = *(blocks ? blocks[b] : scan->unwanted);
        int32_t *predicted = &scan->predicted[scan->plan[b].component];
        if (!rue_read_dc(&reader, scan->plan[b].dc, predicted)) return false;
        if (!rue_read_ac(&reader, scan->plan[b].ac, block)) return false;
        bool is_behind = reader.at - (ptrdiff_t)(reader.count >> 3 & 7) > scan->end;
        if (is_behind) return false;
        block[0] = (int16_t)*predicted;
    }
    scan->reader = reader;
    return true;
}

#undef INLINE
#endif
