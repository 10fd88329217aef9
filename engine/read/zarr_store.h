/* An open Zarr array in a folder: its chunks and where they lie. Nothing outside the folder is read: names
 * come from numbers, and symbolic links are refused. Reading is thread-safe. */
#ifndef RUE_ZARR_STORE_H
#define RUE_ZARR_STORE_H

#include "source.h"
#include "zarr_metadata.h"

struct rue_zarr;

/* Opens the file `name` below a folder for reading, without following symbolic links; -1: errno says why
 * (ELOOP: a link). */
int rue_zarr_open_file(int folder_fd, const char *name);

/* Refuses a symbolic link among the folders of `name`, except those that it shares with `previous`, which was
 * checked. RUE_DATA names the link. */
rue_status rue_zarr_refuse_links(int folder_fd, const char *path, const char *name, const char *previous,
                                 rue_error *error) RUE_MUST_CHECK;

/* Says why the file could not be read, from errno; 0: it ends too early. */
rue_status rue_zarr_fail_file(rue_error *error, const char *path, const char *name);

/* Reads the JSON in the file `name` as rue_zarr_load_json does, and sets `*digest` to a hash of its text. The
 * caller releases `*out`, which is NULL if the file does not exist. `path` is the folder, for messages.
 * RUE_DATA; also the results of rue_source_failure. */
rue_status rue_zarr_read_json(int folder_fd, const char *path, const char *name, json_t **out,
                              uint64_t *digest, rue_error *error) RUE_MUST_CHECK;

/* Reads the metadata of the array `name` ("" or "images/"). `*found` is false if there is no such array; it
 * may be true after an error, see rue_zarr_parse. RUE_DATA names array or file; also the results of
 * rue_source_failure. */
rue_status rue_zarr_describe(int folder_fd, const char *path, const char *name, bool *found,
                             struct rue_zarr_array *out, rue_error *error) RUE_MUST_CHECK;

/* Opens the array `name` of the folder `path`, whose descriptor must stay open; `array` is from
 * rue_zarr_describe. Reads the sizes of its files, which must not change afterwards. RUE_DATA names the
 * array, also if all its files have names with the other separator; also the results of rue_source_failure,
 * and of `stop`. */
rue_status rue_zarr_open(int folder_fd, const char *path, const char *name,
                         const struct rue_zarr_array *array, const struct rue_source_options *options,
                         struct rue_zarr **out, rue_error *error) RUE_MUST_CHECK;
void rue_zarr_close(struct rue_zarr *zarr);

const struct rue_zarr_array *rue_zarr_array(const struct rue_zarr *zarr);
/* The path of the array, for messages. */
const char *rue_zarr_path(const struct rue_zarr *zarr);
uint64_t rue_zarr_item_bytes(const struct rue_zarr *zarr);
uint64_t rue_zarr_stored_bytes(const struct rue_zarr *zarr);
/* A hash of the metadata and of the sizes of the files. */
uint64_t rue_zarr_digest(const struct rue_zarr *zarr);
/* Number of missing chunks, that of all chunks, and the first missing one: its file, or "chunk 3 of" its
 * shard. The array owns the text. A shard whose index cannot be read has no missing chunks: reading it
 * fails. */
uint64_t rue_zarr_missing(const struct rue_zarr *zarr, uint64_t *chunks, const char **example);

/* Largest memory of the chunks and indexes that are kept for later reads. */
uint64_t rue_zarr_cache_bytes(const struct rue_zarr *zarr);

/* Reads the item into `into` [rue_zarr_item_bytes]. A missing chunk has the fill value. RUE_DATA names the
 * chunk. Also the results of rue_source_failure. */
rue_status rue_zarr_read(const struct rue_zarr *zarr, uint64_t item, void *into,
                         rue_error *error) RUE_MUST_CHECK;

/* As rue_source_prepare. */
bool rue_zarr_prepare(const struct rue_zarr *zarr, uint64_t item);

/* As rue_source_allows, rue_source_view and rue_source_drop_pages: each file is mapped. */
bool rue_zarr_allows_views(const struct rue_zarr *zarr);
rue_status rue_zarr_view(const struct rue_zarr *zarr, uint64_t item, const void **out,
                         rue_error *error) RUE_MUST_CHECK;
void rue_zarr_drop_views(const struct rue_zarr *zarr);

/* Frees the decoded chunks that no thread uses. */
void rue_zarr_trim(const struct rue_zarr *zarr);

/* Sets `*out` to the file that holds the whole item. False: it is missing, or several files hold the item. */
bool rue_zarr_place(const struct rue_zarr *zarr, uint64_t item, struct rue_place *out);

#endif
