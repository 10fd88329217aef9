/* Settings that no command knows: of rue.json and of the environment, see settings.h. */
#ifndef RUE_UNKNOWN_SETTINGS_H
#define RUE_UNKNOWN_SETTINGS_H

#include <stddef.h>

/* Their names, with what was perhaps meant, as one line; "" when there are none. A file that cannot be read
 * holds none. */
void rue_unknown_settings_list(char *out, size_t bytes);

#endif
