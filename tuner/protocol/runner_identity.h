/* Whether a restarted runner is the same as before: compares its answers. */
#ifndef RUE_RUNNER_IDENTITY_H
#define RUE_RUNNER_IDENTITY_H

#include <jansson.h>
#include <stdbool.h>

enum { RUE_IDENTITY_TEXT_BYTES = 512 };

/* Keys of the answers to hello and open that must not change; NULL at the end. The other keys of open are
 * text for users, which may name free memory. */
extern const char *const rue_hello_keys[];
extern const char *const rue_opened_keys[];

/* Whether the replies differ in one of `keys`; null equals absent. `out` names the first difference: "images"
 * was 1000 and is 77. */
bool rue_runner_identity_differs(const json_t *before, const json_t *now, const char *const *keys,
                                 char out[RUE_IDENTITY_TEXT_BYTES]);

#endif
