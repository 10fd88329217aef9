#include "chunk_cache.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, CHUNKS = 20, CHUNK_BYTES = 1000 };

static atomic_int loads;

/* Slow enough for others to come meanwhile. Fails for `*context`. */
static rue_status load(const void *context, uint64_t key, void *into, uint64_t bytes, rue_error *error)
{
    loads++;
    usleep(200);
    memset(into, (int)key, bytes);
    if (context && key == *(const uint64_t *)context) return rue_fail(error, RUE_DATA, "chunk is damaged");
    return RUE_OK;
}

static rue_status acquire(struct rue_chunk_cache *cache, uint64_t key, uint64_t uses, const void *context,
                          struct rue_chunk **out, rue_error *error)
{
    const struct rue_chunk_request request = {key, CHUNK_BYTES, uses, load, context};
    return rue_chunk_cache_acquire(cache, &request, out, error);
}

static void check(struct rue_chunk_cache *cache, uint64_t key)
{
    struct rue_chunk *chunk;
    rue_error error = {0};
    cr_assert_eq(acquire(cache, key, 100, NULL, &chunk, &error), RUE_OK);
    const unsigned char *bytes = rue_chunk_bytes(chunk);
    cr_assert(bytes[0] == key && bytes[CHUNK_BYTES - 1] == key);
    rue_chunk_cache_release(cache, chunk);
}

static struct rue_chunk_cache *cache_of(uint64_t chunks)
{
    struct rue_chunk_cache *cache;
    cr_assert_eq(rue_chunk_cache_open(chunks * CHUNK_BYTES, &cache, NULL), RUE_OK);
    loads = 0;
    return cache;
}

static void *read_all(void *cache)
{
    for (uint64_t key = 0; key < CHUNKS; key++) check(cache, key);
    return NULL;
}

Test(chunk_cache, a_chunk_is_loaded_once_for_all_threads)
{
    pthread_t threads[THREADS];
    struct rue_chunk_cache *cache = cache_of(CHUNKS);
    for (int t = 0; t < THREADS; t++) cr_assert_eq(pthread_create(&threads[t], NULL, read_all, cache), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    cr_assert_eq(loads, CHUNKS);
    rue_chunk_cache_close(cache);
}

Test(chunk_cache, the_chunk_that_was_not_used_longest_is_removed)
{
    struct rue_chunk_cache *cache = cache_of(3);
    const uint64_t order[] = {1, 2, 3, 1, 4, 1, 3};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) check(cache, order[i]);
    cr_assert_eq(loads, 4);
    check(cache, 2);
    cr_assert_eq(loads, 5);
    rue_chunk_cache_close(cache);
}

Test(chunk_cache, a_chunk_that_is_used_up_goes_first)
{
    struct rue_chunk_cache *cache = cache_of(10);
    struct rue_chunk *chunk;
    for (uint64_t key = 0; key < 3; key++) check(cache, key);
    for (int use = 0; use < 2; use++) {
        cr_assert_eq(acquire(cache, 5, 2, NULL, &chunk, NULL), RUE_OK);
        rue_chunk_cache_release(cache, chunk);
    }
    cr_assert_eq(loads, 4);
    check(cache, 6); /* in its place, although there is room */
    for (uint64_t key = 0; key < 3; key++) check(cache, key);
    cr_assert_eq(loads, 5);
    check(cache, 5);
    cr_assert_eq(loads, 6);
    rue_chunk_cache_trim(cache);
    check(cache, 0);
    cr_assert_eq(loads, 7);
    rue_chunk_cache_close(cache);
}

static void *prepare_twice(void *argument)
{
    const struct rue_chunk_request request = {9, CHUNK_BYTES, 2, load, NULL};
    static bool busy[2];
    for (int i = 0; i < 2; i++) busy[i] = rue_chunk_cache_prepare(argument, &request);
    cr_assert(!busy[1], "it is in the cache");
    return busy;
}

Test(chunk_cache, a_chunk_is_prepared_for_all_its_uses)
{
    pthread_t thread;
    struct rue_chunk *chunk;
    struct rue_chunk_cache *cache = cache_of(10);
    cr_assert_eq(pthread_create(&thread, NULL, prepare_twice, cache), 0);
    pthread_join(thread, NULL);
    for (int use = 0; use < 2; use++) {
        cr_assert_eq(acquire(cache, 9, 2, NULL, &chunk, NULL), RUE_OK);
        rue_chunk_cache_release(cache, chunk);
    }
    cr_assert_eq(loads, 1);
    check(cache, 3);
    check(cache, 9);
    cr_assert_eq(loads, 3, "its uses were over");
    rue_chunk_cache_close(cache);
}

Test(chunk_cache, chunks_in_use_stay_beyond_the_capacity)
{
    struct rue_chunk_cache *cache = cache_of(1);
    struct rue_chunk *chunks[4];
    for (uint64_t key = 0; key < 4; key++)
        cr_assert_eq(acquire(cache, key, 100, NULL, &chunks[key], NULL), RUE_OK);
    for (int key = 0; key < 4; key++) {
        cr_assert_eq(*(const unsigned char *)rue_chunk_bytes(chunks[key]), key);
        rue_chunk_cache_release(cache, chunks[key]);
    }
    rue_chunk_cache_close(cache);
}

Test(chunk_cache, a_failed_load_is_reported_and_tried_again)
{
    struct rue_chunk_cache *cache = cache_of(3);
    const uint64_t bad = 7;
    struct rue_chunk *chunk;
    for (int turn = 0; turn < 3; turn++) {
        rue_error error = {0};
        cr_assert_eq(acquire(cache, bad, 100, &bad, &chunk, &error), RUE_DATA);
        cr_assert_str_eq(error.message, "chunk is damaged");
    }
    cr_assert_eq(loads, 3);
    check(cache, bad);
    rue_chunk_cache_close(cache);
}
