/* The results of functions that can fail, and the exit codes of the program `rue`. librue returns OK,
 * INTERNAL, MEMORY, TIMEOUT, USAGE, DATA, INFEASIBLE, STORE and INTERRUPTED. */
#ifndef RUE_STATUS_H
#define RUE_STATUS_H

/* X(name, exit code of the program, text) */
#define RUE_STATUS_MAP(X)                \
    X(OK, 0, "ok")                       \
    X(INTERNAL, 1, "internal error")     \
    X(MEMORY, 1, "out of memory")        \
    X(TIMEOUT, 1, "timed out")           \
    X(RUNNER, 1, "runner failed")        \
    X(USAGE, 2, "wrong usage")           \
    X(DATA, 3, "data unreadable")        \
    X(INFEASIBLE, 4, "nothing feasible") \
    X(INCONCLUSIVE, 5, "inconclusive")   \
    X(STORE, 6, "store or disk failed")  \
    X(INTERRUPTED, 130, "interrupted")   \
    X(TERMINATED, 143, "terminated")

typedef enum rue_status {
#define X(name, exit_code, text) RUE_##name,
    RUE_STATUS_MAP(X)
#undef X
} rue_status;

#define RUE_MUST_CHECK __attribute__((warn_unused_result))

/* Static text: "out of memory". */
const char *rue_status_text(rue_status status);
int rue_status_exit_code(rue_status status);

#endif
