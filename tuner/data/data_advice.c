#include "data_advice.h"

#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "catalogue.h"
#include "files.h"
#include "program_name.h"
#include "shell_quote.h"
#include "store.h"

struct contents {
    size_t images, other_files;
    bool image, study, studies_below;
    char ending[8]; /* of the first image: ".png" */
};

static void count_file(const char *name, int level, struct contents *out)
{
    static const char images[] = ".tif .tiff .heic .avif .jp2 .jxl .ppm",
                      reports[] = ".json .csv .db .db-wal .db-shm";
    const char *ending = strrchr(name, '.');
    bool named = ending && ending[1] && strlen(ending) < sizeof out->ending;
    if (name[0] == '.') return;
    out->image |= rue_files_image_kind(name) != RUE_IMAGE_NONE;
    if (strcmp(name, RUE_STORE_FILE) == 0) *(level == 1 ? &out->study : &out->studies_below) = true;
    if (named && strcasestr(images, ending) && out->images++ == 0) strcpy(out->ending, ending);
    out->other_files += !named || !(strcasestr(images, ending) || strstr(reports, ending));
}

static struct contents count_files(const char *folder)
{
    struct contents contents = {0};
    char path[PATH_MAX], *const roots[] = {path, NULL};
    snprintf(path, sizeof path, "%s", folder);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && !contents.image && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F && entry->fts_level > 0)
            count_file(entry->fts_name, entry->fts_level, &contents);
    if (tree) fts_close(tree);
    return contents;
}

rue_status rue_data_advise(rue_status status, const char *path, rue_error *error)
{
    rue_error advice = {0};
    char word[RUE_SHELL_WORD_BYTES];
    if (status != RUE_DATA) return status;
    struct rue_profile model;
    if (access(path, F_OK) != 0 && rue_catalogue_find(path, &model, NULL) == RUE_OK)
        rue_fail(&advice, status, "%s is a model, not data: separate models by commas, --model A,%s", path,
                 path);
    if (advice.message[0]) return *error = advice, status;
    rue_shell_word(path, word);
    const struct contents found = count_files(path);
    if (found.image) return status;
    if (found.images)
        rue_fail(&advice, status,
                 "%s has no image that rue reads, only others (%zu, such as *%s): convert them (find %s "
                 "-name '*%s' "
                 "-exec mogrify -format jpg {} +), or write a runner (docs/protocol.md)",
                 path, found.images, found.ending, word, found.ending);
    else if (found.study && !found.other_files)
        rue_fail(&advice, status, "%s is the folder of a study, not data; to see its result: %s show %s",
                 path, rue_program_name(), word);
    else if (found.studies_below && !found.other_files)
        rue_fail(&advice, status, "%s holds studies, not data; to list them: %s list %s", path,
                 rue_program_name(), word);
    if (advice.message[0]) *error = advice;
    return status;
}
