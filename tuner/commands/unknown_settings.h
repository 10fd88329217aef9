/* Finds settings in rue.json and the environment that no command has; see settings.h. */
#ifndef RUE_UNKNOWN_SETTINGS_H
#define RUE_UNKNOWN_SETTINGS_H

#include <stddef.h>

/* Their names with the most similar known names, on one line; "" if none. An unreadable file is ignored. */
void rue_unknown_settings_list(char *out, size_t bytes);

#endif
