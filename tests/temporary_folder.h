/* A folder for one test, and files in it. Errors of the system abort: no test is about them. */
#ifndef RUE_TEMPORARY_FOLDER_H
#define RUE_TEMPORARY_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_PATH_BYTES = 512 };

static char temporary_folder[64];

static inline void temporary_check(int good, const char *doing, const char *what)
{
    if (good) return;
    fprintf(stderr, "cannot %s %s: ", doing, what);
    perror("");
    abort();
}

static inline void temporary_folder_make(void)
{
    snprintf(temporary_folder, sizeof temporary_folder, "/tmp/rue_test_XXXXXX");
    temporary_check(mkdtemp(temporary_folder) != NULL, "create", temporary_folder);
}

static inline int temporary_remove_entry(const char *path, const struct stat *about, int type,
                                         struct FTW *walk)
{
    (void)about, (void)type, (void)walk;
    return remove(path);
}

static inline void temporary_folder_remove(void)
{
    nftw(temporary_folder, temporary_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of what is called `name` in the folder; valid until the fourth call after this one. */
static inline const char *temporary_path(const char *name)
{
    static char paths[4][TEMPORARY_PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, TEMPORARY_PATH_BYTES, "%s/%s", temporary_folder, name);
    return path;
}

/* Writes a file below the folder, and the folders on its way. */
static inline void temporary_file(const char *name, const void *data, size_t bytes)
{
    char path[TEMPORARY_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", temporary_folder, name);
    for (char *at = path + strlen(temporary_folder) + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "wb");
    temporary_check(file != NULL, "create", path);
    temporary_check(bytes == 0 || fwrite(data, 1, bytes, file) == bytes, "write", path);
    temporary_check(fclose(file) == 0, "close", path);
}

static inline void temporary_text(const char *name, const char *text)
{
    temporary_file(name, text, strlen(text));
}

/* The whole file, to be freed. */
static inline unsigned char *temporary_read(const char *name, size_t *bytes)
{
    const char *path = temporary_path(name);
    struct stat about;
    FILE *file = fopen(path, "rb");
    temporary_check(file && fstat(fileno(file), &about) == 0, "read", path);
    unsigned char *data = malloc((size_t)about.st_size + 1);
    *bytes = fread(data, 1, (size_t)about.st_size, file);
    temporary_check(*bytes == (size_t)about.st_size, "read", path);
    fclose(file);
    return data;
}

/* How many entries lie in the folder itself. */
static inline int temporary_entries(void)
{
    DIR *folder = opendir(temporary_folder);
    temporary_check(folder != NULL, "list", temporary_folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

#endif
