#include "settings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <sys/stat.h>

#include "json_file.h"

enum { SETTINGS_BYTES_MAX = 1 << 20 };

static const char advice[] = "write settings such as {\"budget\": \"5m\"}, or move the file away";

rue_status rue_settings_read(json_t **out, rue_error *error)
{
    struct stat about;
    rue_error why = {0};
    json_t *settings = NULL;
    *out = NULL;
    bool there = stat(RUE_SETTINGS_FILE, &about) == 0;
    if (!there && errno == ENOENT)
        return (*out = json_object()) ? RUE_OK : rue_fail_memory(error, "settings", sizeof **out);
    if (!there)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; %s", RUE_SETTINGS_FILE, strerror(errno),
                        advice);
    if (about.st_size > SETTINGS_BYTES_MAX)
        return rue_fail(error, RUE_USAGE, "%s is larger than %d bytes; %s", RUE_SETTINGS_FILE,
                        SETTINGS_BYTES_MAX, advice);
    if (rue_json_file_read(RUE_SETTINGS_FILE, advice, &settings, &why) != RUE_OK)
        return rue_fail(error, RUE_USAGE, "%s", why.message);
    if (json_is_object(settings)) return *out = settings, RUE_OK;
    json_decref(settings);
    return rue_fail(error, RUE_USAGE, "%s is not a JSON object; %s", RUE_SETTINGS_FILE, advice);
}
