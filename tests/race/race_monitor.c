/* Watching processes while they come and go, for ThreadSanitizer. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor.h"
#include "race_fixture.h"
#include "suspension.h"
#include "units.h"

enum { WATCHES = 30, CHILDREN = 10 };

static void make_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
}

static const char *watch_fault(void)
{
    struct rue_monitor *monitor;
    const struct rue_usage_sample *samples;
    if (rue_monitor_open(rue_suspension_awake_ns(), RUE_NS_PER_MS, &monitor, NULL) != RUE_OK)
        return "it did not open";
    make_children();
    rue_monitor_stop(monitor);
    size_t count = rue_monitor_samples(monitor, &samples);
    bool grows = count >= 1;
    for (size_t i = 1; i < count; i++)
        grows &= samples[i].time_s > samples[i - 1].time_s && samples[i].cpu_percent >= 0;
    rue_monitor_close(monitor);
    return grows ? NULL : "its samples do not follow each other";
}

static const char *close_fault(void)
{
    struct rue_monitor *monitor;
    if (rue_monitor_open(rue_suspension_awake_ns(), 100 * RUE_NS_PER_US, &monitor, NULL) != RUE_OK)
        return "it did not open";
    rue_monitor_close(monitor);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < WATCHES; i++) {
        race_case(watch_fault(), "watch %d", i);
        race_case(close_fault(), "a watch that is closed at once, %d", i);
    }
    return race_end();
}
