/* Whether a runner that was started again is the one that began: what it says, compared with what it said. */
#ifndef RUE_RUNNER_IDENTITY_H
#define RUE_RUNNER_IDENTITY_H

#include <jansson.h>
#include <stdbool.h>

enum { RUE_IDENTITY_TEXT_BYTES = 512 };

/* Keys of a hello, and of an open reply, that must not change; NULL at the end. What is left out of the
 * second one is text for people, in which free memory is named. */
extern const char *const rue_hello_keys[];
extern const char *const rue_opened_keys[];

/* Whether the two replies differ in one of `keys`; null is as good as absent. `out` names the first one that
 * does, with both values, cut short: "images" was 1000 and is 77. */
bool rue_runner_identity_differs(const json_t *before, const json_t *now, const char *const *keys,
                                 char out[RUE_IDENTITY_TEXT_BYTES]);

#endif
