/* The files of a source; see also source_index.h. Reading is thread-safe, and fails if a file was changed. */
#ifndef RUE_FILES_H
#define RUE_FILES_H

#include "file_io.h"
#include "file_kind.h"
#include "source_index.h"

/* `files` may be NULL: no files. */
void rue_files_close(struct rue_files *files);
size_t rue_files_count(const struct rue_files *files);

const char *rue_files_path(const struct rue_files *files, size_t file);
struct rue_file_identity rue_files_identity(const struct rue_files *files, size_t file);

/* The descriptor of a file, open until rue_files_close; -1: errno says why. */
int rue_files_keep_open(struct rue_files *files, size_t file);

/* Sorts the files by the bytes of their paths. Call it before the first read. */
void rue_files_sort(struct rue_files *files);

/* Checks that no file has changed. RUE_DATA names one that has. Also the results of rue_source_failure. */
rue_status rue_files_check(const struct rue_files *files, rue_error *error) RUE_MUST_CHECK;

/* Opens the folder of items that are files. Errors of rue_source_failure; RUE_MEMORY. */
rue_status rue_files_set_folder(struct rue_files **files, const char *path, rue_error *error) RUE_MUST_CHECK;

/* The folder, and its descriptor. */
const char *rue_files_folder(const struct rue_files *files);
int rue_files_folder_fd(const struct rue_files *files);

/* Reads the file `name`, absolute or below the folder, into `into` [bytes]. It must be a regular file of this
 * size; a FIFO does not block. Thread-safe. RUE_DATA; also the results of rue_source_failure. */
rue_status rue_files_read_whole(const struct rue_files *files, const char *name, uint64_t bytes, void *into,
                                rue_error *error) RUE_MUST_CHECK;

/* Adds the first folder of each item's name as a class to those without items, which the index may have
 * already, sorts all by bytes, and sets the labels. If no item has a folder, there are no classes; else items
 * without a folder are skipped. RUE_MEMORY. */
rue_status rue_index_label_by_folder(struct rue_index *index, rue_error *error) RUE_MUST_CHECK;

/* Copies the name of an item [bytes], a path, without a leading "/", and without "." and empty parts. */
void rue_files_copy_name(char *out, const char *name, size_t bytes);

/* The type of image that the ending of the name stands for. The file may have another type. */
enum rue_image_kind rue_files_image_kind(const char *name);

#endif
