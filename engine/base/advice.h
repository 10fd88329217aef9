/* Hints for errors of the system that can happen in many parts of the program. */
#ifndef RUE_ADVICE_H
#define RUE_ADVICE_H

/* The hint for this errno, as the end of a message ("; free some space or write elsewhere"); "" if there is
 * none. Static text. */
const char *rue_advice(int error_number);

/* The same; `otherwise` if there is none. */
const char *rue_advice_or(int error_number, const char *otherwise);

#endif
