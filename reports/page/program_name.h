/* The name of this program in the commands that messages and reports show, so that they run as typed. */
#ifndef RUE_PROGRAM_NAME_H
#define RUE_PROGRAM_NAME_H

/* Finds it: "rue" if the shell finds this program by that name, else the path by which it was started
 * (`argv0`), quoted for a shell. Call it once, before threads. */
void rue_program_name_find(const char *argv0);

/* "rue" before rue_program_name_find. */
const char *rue_program_name(void);

#endif
