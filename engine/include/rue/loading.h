/* Ways of loading that the loader and the workload of a study have in common. */
#ifndef RUE_LOADING_H
#define RUE_LOADING_H

enum rue_parallelism {
    RUE_PARALLEL_BATCH,  /* each worker loads a whole batch, as PyTorch does */
    RUE_PARALLEL_SAMPLE, /* the workers share each batch, item by item */
    RUE_PARALLEL_COUNT
};
extern const char *const rue_parallelism_names[RUE_PARALLEL_COUNT + 1]; /* "batch", "sample", NULL */

/* What becomes of an item that cannot be decoded. */
enum rue_bad_images { RUE_BAD_FAIL, RUE_BAD_REPLACE, RUE_BAD_COUNT };
extern const char *const rue_bad_images_names[RUE_BAD_COUNT + 1]; /* "fail", "replace", NULL */

/* How JPEGs are decoded: to the very values of PIL; or, where both sides are at least twice as long as
 * needed, to a half, a quarter or an eighth of their size, which is quicker and not the same (transform.h).
 */
enum rue_decode { RUE_DECODE_EXACT, RUE_DECODE_FAST, RUE_DECODE_COUNT };
extern const char *const rue_decode_names[RUE_DECODE_COUNT + 1]; /* "exact", "fast", NULL */

#endif
