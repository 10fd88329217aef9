#include "descendants.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"

static void add_process(struct rue_descendants *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == pid) return;
    if (rue_array_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at, "processes", NULL) ==
        RUE_OK)
        list->at[list->count++] = pid;
}

/* Each thread has children of its own. */
static void add_children(struct rue_descendants *list, pid_t parent)
{
    char path[320];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, entry->d_name);
        FILE *file = fopen(path, "re");
        while (file && fscanf(file, "%d", &child) == 1) add_process(list, child);
        if (file) fclose(file);
    }
    if (threads) closedir(threads);
}

void rue_descendants_find(struct rue_descendants *list, pid_t root)
{
    list->count = 0;
    add_children(list, root);
    for (size_t i = 0; i < list->count; i++) add_children(list, list->at[i]);
}

void rue_descendants_close(struct rue_descendants *list)
{
    free(list->at);
    *list = (struct rue_descendants){0};
}
