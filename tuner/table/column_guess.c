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
    enum rue_column column; /* of times in that unit, or in the next one to it */
    const char *foreign;    /* what the unit is called that we have no column for; NULL: we have */
} units[] = {{"s", RUE_COLUMN_TIME_S, NULL},
             {"sec", RUE_COLUMN_TIME_S, NULL},
             {"secs", RUE_COLUMN_TIME_S, NULL},
             {"second", RUE_COLUMN_TIME_S, NULL},
             {"seconds", RUE_COLUMN_TIME_S, NULL},
             {"ms", RUE_COLUMN_TIME_MS, NULL},
             {"msec", RUE_COLUMN_TIME_MS, NULL},
             {"millis", RUE_COLUMN_TIME_MS, NULL},
             {"milliseconds", RUE_COLUMN_TIME_MS, NULL},
             {"ns", RUE_COLUMN_TIME_NS, NULL},
             {"nanoseconds", RUE_COLUMN_TIME_NS, NULL},
             {"us", RUE_COLUMN_TIME_MS, "microseconds"},
             {"usec", RUE_COLUMN_TIME_MS, "microseconds"},
             {"microseconds", RUE_COLUMN_TIME_MS, "microseconds"},
             {"min", RUE_COLUMN_TIME_S, "minutes"},
             {"minutes", RUE_COLUMN_TIME_S, "minutes"},
             {"h", RUE_COLUMN_TIME_S, "hours"},
             {"hours", RUE_COLUMN_TIME_S, "hours"}};

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

/* The unit at the end of a name, as above. */
static int last_unit(const struct words *words)
{
    return words->count ? unit_of(words->text[words->count - 1]) : -1;
}

static int count_time_words(const struct words *words)
{
    int count = 0;
    for (int w = 0; w < words->count; w++) count += is_among(words->text[w], time_words, COUNT(time_words));
    return count;
}

/* How likely the column holds times: 0: not at all. A unit says more than a word. */
static int likelihood(const char *name, enum rue_column *column)
{
    struct words words = take_apart(name);
    int unit = last_unit(&words);
    if (rue_column_is_rate(name) || (unit >= 0 && units[unit].foreign)) return 0;
    *column = unit >= 0 ? units[unit].column : RUE_COLUMN_TIME_S;
    return count_time_words(&words) + (unit >= 0 ? 2 : 0);
}

const char *rue_column_foreign_unit(const char *name, enum rue_column *instead)
{
    struct words words = take_apart(name);
    int unit = last_unit(&words);
    if (unit < 0 || rue_column_is_rate(name) || count_time_words(&words) == 0) return NULL;
    *instead = units[unit].column;
    return units[unit].foreign;
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
