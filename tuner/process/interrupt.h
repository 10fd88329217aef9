/* Ctrl-C and SIGTERM: the first asks for an orderly end, a second Ctrl-C quits at once (one within a
 * tenth of a second is the same one: `timeout` signals a child and its group). */
#ifndef RUE_INTERRUPT_H
#define RUE_INTERRUPT_H

#include "status.h"

/* Installs the handlers for SIGINT, SIGTERM and SIGHUP (unless that is ignored, as under nohup), and ignores
 * SIGPIPE. Once a process. */
void rue_interrupt_install(void);

/* RUE_OK, or RUE_INTERRUPTED (SIGINT) or RUE_TERMINATED once a signal came. */
rue_status rue_interrupt_status(void);

/* A descriptor that is readable once a signal came; for poll, never to be read. */
int rue_interrupt_fd(void);

/* A file that a second Ctrl-C removes before it quits; NULL: none. Borrowed until it is changed. */
void rue_interrupt_guard_file(const char *path);

#endif
