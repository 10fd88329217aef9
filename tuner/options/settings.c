#include "settings.h"

#include <stdio.h>
#include <sys/stat.h>

rue_status rue_settings_read(json_t **out, rue_error *error)
{
    *out = NULL;
    struct stat about;
    if (stat(RUE_SETTINGS_FILE, &about) != 0)
        return (*out = json_object()) ? RUE_OK : rue_fail_memory(error, "settings", sizeof **out);
    if (!S_ISREG(about.st_mode)) /* reading a FIFO would wait for somebody to write into it */
        return rue_fail(error, RUE_USAGE, "%s is no regular file: settings are read from it; move it away",
                        RUE_SETTINGS_FILE);
    json_error_t why;
    json_t *settings = json_load_file(RUE_SETTINGS_FILE, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(settings)) return *out = settings, RUE_OK;
    json_decref(settings);
    return rue_fail(error, RUE_USAGE, "%s, line %d: %s", RUE_SETTINGS_FILE, why.line,
                    settings ? "it is no JSON object; write {\"budget\": \"5m\"} or the like" : why.text);
}
