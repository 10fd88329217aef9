/* A change of the machine while a study ran, as it is told to people. */
#ifndef RUE_NOTICE_H
#define RUE_NOTICE_H

#include <stddef.h>

enum { RUE_NOTICE_TEXT_BYTES = 512 };

struct rue_notice {
    /* Numbers of trials, as trials.csv and the store have them. */
    size_t trial;                 /* the first that it concerns */
    size_t noticed;               /* the last that had been made when it was sure */
    size_t unsure, unsure_end;    /* made before or after it, nobody knows: from the one up to the other */
    double load_log, compute_log; /* logarithms of how many times longer loading and computing take */
    char cause[256];              /* what the kernel says of it; "" when it says nothing */
};

/* "the machine has become 1.3 times slower since trial 57 of trials.csv (18 % of ...): times since then ..."
 */
void rue_notice_text(const struct rue_notice *notice, char *out, size_t bytes);

#endif
