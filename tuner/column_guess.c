#include "column_guess.h"

#include <ctype.h>
#include <string.h>

enum { WORDS_MAX = 16, WORD_BYTES = 24 };

/* A name taken apart: "EndToEnd_ms" is end, to, end, ms. */
struct words {
    int count;
    char text[WORDS_MAX][WORD_BYTES];
};

static const char *const time_words[] = {"time",    "times",   "runtime",  "walltime", "wall",
                                         "latency", "elapsed", "duration", "end",      "job"};
static const char *const rate_words[] = {"per", "rate", "throughput", "fps", "ips", "qps", "speed"};
/* So many of these a second, where a unit of time follows at once. */
static const char *const counted_words[] = {"images", "image", "imgs", "img", "samples", "items", "batches"};

static const struct {
    const char *word;
    int column; /* -1: a unit that we have no column for */
} units[] = {{"s", RUE_COLUMN_TIME_S},
             {"sec", RUE_COLUMN_TIME_S},
             {"secs", RUE_COLUMN_TIME_S},
             {"second", RUE_COLUMN_TIME_S},
             {"seconds", RUE_COLUMN_TIME_S},
             {"ms", RUE_COLUMN_TIME_MS},
             {"msec", RUE_COLUMN_TIME_MS},
             {"millis", RUE_COLUMN_TIME_MS},
             {"milliseconds", RUE_COLUMN_TIME_MS},
             {"ns", RUE_COLUMN_TIME_NS},
             {"nanoseconds", RUE_COLUMN_TIME_NS},
             {"us", -1},
             {"usec", -1},
             {"microseconds", -1},
             {"min", -1},
             {"minutes", -1},
             {"h", -1},
             {"hours", -1}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct words take_apart(const char *name)
{
    struct words words = {0};
    int used = 0;
    for (const char *at = name; *at && words.count < WORDS_MAX; at++) {
        bool letter = isalnum((unsigned char)*at);
        bool begins = at > name && isupper((unsigned char)*at) && islower((unsigned char)at[-1]);
        if ((!letter || begins) && used > 0) words.count++, used = 0;
        if (!letter || words.count == WORDS_MAX || used == WORD_BYTES - 1) continue;
        words.text[words.count][used++] = (char)tolower((unsigned char)*at);
    }
    words.count += used > 0;
    return words;
}

static bool is_among(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

/* The unit that a word names, an index of `units`; -1: none. */
static int unit_of(const char *word)
{
    for (size_t u = 0; u < COUNT(units); u++)
        if (strcmp(units[u].word, word) == 0) return (int)u;
    return -1;
}

bool rue_column_is_rate(const char *name)
{
    struct words words = take_apart(name);
    for (int w = 0; w < words.count; w++) {
        const char *next = w + 1 < words.count ? words.text[w + 1] : "";
        if (is_among(words.text[w], rate_words, COUNT(rate_words))) return true;
        if (is_among(words.text[w], counted_words, COUNT(counted_words)) && unit_of(next) >= 0) return true;
    }
    return strcasestr(name, "throughput") || strcasestr(name, "/s");
}

/* How likely the column holds times: 0: not at all. A unit says more than a word. */
static int likelihood(const char *name, enum rue_column *column)
{
    struct words words = take_apart(name);
    int unit = words.count ? unit_of(words.text[words.count - 1]) : -1, score = unit >= 0 ? 2 : 0;
    if (rue_column_is_rate(name) || (unit >= 0 && units[unit].column < 0)) return 0;
    for (int w = 0; w < words.count; w++) score += is_among(words.text[w], time_words, COUNT(time_words));
    *column = unit >= 0 ? (enum rue_column)units[unit].column : RUE_COLUMN_TIME_S;
    return score;
}

const char *rue_column_guess_time(const char *const *names, size_t count, enum rue_column *column)
{
    const char *found = NULL;
    int most = 0;
    for (size_t f = 0; f < count; f++) {
        enum rue_column its;
        int score = likelihood(names[f], &its);
        if (score <= most) continue;
        most = score;
        *column = its;
        found = names[f];
    }
    return found;
}
