#include "notice.h"

#include <math.h>
#include <stdio.h>

void rue_notice_text(const struct rue_notice *notice, char *out, size_t bytes)
{
    double load = notice->load_log, compute = notice->compute_log;
    const char *what = load == compute ? "the machine has become" : "loading has become";
    char models[96] = "";
    if (load != compute && compute == 0)
        snprintf(models, sizeof models, ", computing not");
    else if (load != compute)
        snprintf(models, sizeof models, ", computing %.2f times %s", exp(fabs(compute)),
                 compute > 0 ? "slower" : "faster");
    snprintf(out, bytes,
             "%s %.2f times %s since trial %zu of trials.csv%s%s%s%s: times since then are corrected by that",
             what, exp(fabs(load)), load > 0 ? "slower" : "faster", notice->trial, models,
             notice->cause[0] ? " (" : "", notice->cause, notice->cause[0] ? ")" : "");
}
