/* Checks as JUnit's XML, which CI services show: a test case for each recommendation. */
#ifndef RUE_CHECK_JUNIT_H
#define RUE_CHECK_JUNIT_H

#include <stdio.h>

#include "check_page.h"

/* The first bytes of every such file. */
#define RUE_CHECK_JUNIT_MARK "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- rue -->\n"

/* A recommendation that does not hold is a failure, one that was not checked is skipped. `checks` is a struct
 * rue_checks. RUE_STORE. */
rue_status rue_checks_write_junit(const void *checks, FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
