/* Ctrl-C, SIGTERM and SIGHUP. They end the process at once, with one line that says so, until something has
 * begun that has to be finished in order (rue_interrupt_defer): from then on they ask for an orderly end, and
 * a second Ctrl-C quits at once (one within a tenth of a second is the same one: `timeout` signals a child
 * and its group).
 *
 * An orderly end waits for nobody who does not read: what cannot be written to standard output or standard
 * error for a third of a second then is thrown away. */
#ifndef RUE_INTERRUPT_H
#define RUE_INTERRUPT_H

#include <stdbool.h>

#include "status.h"

/* Installs the handlers for SIGINT, SIGTERM and SIGHUP (unless that is ignored, as under nohup), takes over
 * SIGALRM, and ignores SIGPIPE. Once a process. `command` begins the line: "rue list: interrupted". */
void rue_interrupt_install(const char *command);

/* Something begins that has to be finished in order, such as a folder that is written; or it is finished.
 * Counts: within the other. What is finished without a signal is safe. */
void rue_interrupt_defer(bool begins);

/* RUE_OK, or RUE_INTERRUPTED (SIGINT) or RUE_TERMINATED once a signal came that is deferred. */
rue_status rue_interrupt_status(void);

/* A descriptor that is readable once such a signal came; for poll, never to be read. */
int rue_interrupt_fd(void);

/* A file that quitting at once removes; NULL: none. Borrowed until it is changed. */
void rue_interrupt_guard_file(const char *path);

/* Whether a line without an end stands on the terminal, which is to be wiped before anything is said. */
void rue_interrupt_set_line(bool open_line);

#endif
