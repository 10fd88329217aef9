#include "descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"

static void add_process(struct rue_descendants *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == pid) return;
    if (rue_array_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at, "processes", NULL) ==
        RUE_OK)
        list->at[list->count++] = pid;
}

static void add_listed_children(struct rue_descendants *list, pid_t parent, const char *thread)
{
    char path[320];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1) add_process(list, child);
    if (file) fclose(file);
}

static void add_if_child(struct rue_descendants *list, pid_t parent, const char *pid)
{
    char path[320], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[got] = 0;
    const char *name_end = strrchr(text, ')'); /* the name may hold anything */
    int its_parent = 0;
    if (name_end && sscanf(name_end, ") %*c %d", &its_parent) == 1 && its_parent == parent)
        add_process(list, (pid_t)atoi(pid));
}

/* Not every kernel lists children: without that, all processes are looked at. */
static void add_children(struct rue_descendants *list, pid_t parent, bool listed)
{
    char path[64] = "/proc";
    if (listed) snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        if (listed)
            add_listed_children(list, parent, entry->d_name);
        else
            add_if_child(list, parent, entry->d_name);
    }
    if (folder) closedir(folder);
}

void rue_descendants_find(struct rue_descendants *list, pid_t root)
{
    bool listed = access("/proc/thread-self/children", R_OK) == 0;
    list->count = 0;
    add_children(list, root, listed);
    for (size_t i = 0; i < list->count; i++) add_children(list, list->at[i], listed);
}

void rue_descendants_close(struct rue_descendants *list)
{
    free(list->at);
    *list = (struct rue_descendants){0};
}
