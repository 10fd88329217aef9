#include "gpu_driver.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows "Model:" in the file, blanks aside. */
static bool read_model(const char *path, char out[RUE_GPU_MODEL_BYTES])
{
    static const char key[] = "Model:";
    char line[256];
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, sizeof key - 1) != 0) continue;
        const char *model = line + sizeof key - 1;
        model += strspn(model, " \t");
        snprintf(out, RUE_GPU_MODEL_BYTES, "%.*s", (int)strcspn(model, "\r\n"), model);
        found = true;
    }
    if (file) fclose(file);
    return found;
}

size_t rue_gpu_driver_models(const char *folder, char out[][RUE_GPU_MODEL_BYTES], size_t most)
{
    struct dirent **entries;
    size_t count = 0;
    int all = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < all; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s/information", folder, entries[i]->d_name);
        if (count < most && entries[i]->d_name[0] != '.') count += read_model(path, out[count]);
        free(entries[i]);
    }
    if (all >= 0) free(entries);
    return count;
}
