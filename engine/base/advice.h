/* What to do when the system refuses something that many parts of the program ask for. */
#ifndef RUE_ADVICE_H
#define RUE_ADVICE_H

#include <stdbool.h>

/* What to do about this errno, as the end of a message ("; free some space or write elsewhere"); "" where
 * nothing more is known. Lives for ever. */
const char *rue_advice(int error_number);

/* The same, `otherwise` where nothing more is known. */
const char *rue_advice_or(int error_number, const char *otherwise);

/* Whether a message has such an advice in it already. */
bool rue_advice_given(const char *message);

#endif
