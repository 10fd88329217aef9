/* The files of a source; see also source_index.h. Reading is thread-safe, and notices when a file is no
 * longer what it was when it was added. */
#ifndef RUE_FILES_H
#define RUE_FILES_H

#include "file_io.h"
#include "source_index.h"

/* NULL is legal for all of these: there is no file. */
void rue_files_close(struct rue_files *files);
size_t rue_files_count(const struct rue_files *files);

const char *rue_files_path(const struct rue_files *files, size_t file);
struct rue_file_identity rue_files_identity(const struct rue_files *files, size_t file);

/* The descriptor of a file, open until the files are closed; -1 with errno. */
int rue_files_keep_open(struct rue_files *files, size_t file);

/* Puts them in bytewise order of their paths, before any was read. */
void rue_files_sort(struct rue_files *files);

/* Whether all of them are what they were: RUE_DATA names the first that is not; rue_source_failure. */
rue_status rue_files_check(const struct rue_files *files, rue_error *error) RUE_MUST_CHECK;

/* Opens the folder that items which are files lie in. rue_source_failure, RUE_MEMORY. */
rue_status rue_files_set_folder(struct rue_files **files, const char *path, rue_error *error) RUE_MUST_CHECK;

/* That folder, and its descriptor. */
const char *rue_files_folder(const struct rue_files *files);
int rue_files_folder_fd(const struct rue_files *files);

/* Reads the file `name`, below that folder or absolute, into `into` [bytes]. It has to be regular, and of
 * this size; nothing else in its place is waited for. Thread-safe. RUE_DATA names the file and what is wrong
 * with it; otherwise rue_source_failure. */
rue_status rue_files_read_whole(const struct rue_files *files, const char *name, uint64_t bytes, void *into,
                                rue_error *error) RUE_MUST_CHECK;

/* Adds the first folders of the items' names, which come in their order, as classes, in the bytewise order of
 * their own names, and gives each item the number of its class. Items without a folder beside others that
 * have one are left out. RUE_MEMORY. */
rue_status rue_index_label_by_folder(struct rue_index *index, rue_error *error) RUE_MUST_CHECK;

/* Whether a file's name is that of a JPEG file. */
bool rue_files_is_jpeg(const char *name);

#endif
