/* Ctrl-C, SIGTERM and SIGHUP. They end the process at once with one line, unless signals are deferred
 * (rue_interrupt_defer). Then they ask for an orderly end, and a second Ctrl-C quits at once. A second signal
 * within 0.1 s is ignored, because `timeout` signals a child and its group. An orderly end does not wait for
 * readers: it discards output that standard output or standard error does not accept within 0.3 s. */
#ifndef RUE_INTERRUPT_H
#define RUE_INTERRUPT_H

#include <pthread.h>
#include <stdbool.h>

#include "status.h"

/* Installs the handlers for SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup), uses SIGALRM,
 * and ignores SIGPIPE. Call it once. `command` is for the line: "rue list: interrupted". */
void rue_interrupt_install(const char *command);

/* Begins or ends a section that signals must not cut, such as writing a folder. Sections may be nested. */
void rue_interrupt_defer(bool begins);

/* RUE_OK; or RUE_INTERRUPTED (SIGINT) or RUE_TERMINATED after a deferred signal. */
rue_status rue_interrupt_status(void);

/* A descriptor that poll() finds readable after a deferred signal. Do not read it. */
int rue_interrupt_fd(void);

/* Starts a thread that handles no signals; as pthread_create. */
int rue_interrupt_start_thread(pthread_t *thread, void *(*main)(void *), void *context);

/* A file that is removed if the process quits at once; NULL: none. Borrowed until the next call. */
void rue_interrupt_guard_file(const char *path);

/* Notes whether the terminal shows an unfinished line, which must be erased before other text. */
void rue_interrupt_set_line(bool open_line);

#endif
