#include "shard_split.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 18 };

static const char train[] = "train", val[] = "val", test[] = "test";

static const struct {
    const char *word, *split;
} words[] = {{"train", train}, {"training", train}, {"val", val},   {"valid", val},   {"validation", val},
             {"dev", val},     {"eval", val},       {"test", test}, {"testing", test}};

static size_t letters(const char *text)
{
    size_t count = 0;
    while (isalpha((unsigned char)text[count])) count++;
    return count;
}

const char *rue_shard_split(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = slash ? slash + 1 : path; *at; at++) {
        size_t length = letters(at);
        for (size_t w = 0; length && w < sizeof words / sizeof *words; w++)
            if (strlen(words[w].word) == length && strncasecmp(at, words[w].word, length) == 0)
                return words[w].split;
        at += length ? length - 1 : 0;
    }
    return NULL;
}

bool rue_shard_split_pattern(const char *first, const char *last, size_t count, char out[2 * PATH_MAX])
{
    size_t before = 0, width = 0;
    while (first[before] && first[before] == last[before]) before++;
    while (before && isdigit((unsigned char)first[before - 1])) before--;
    while (isdigit((unsigned char)first[before + width]) && isdigit((unsigned char)last[before + width]))
        width++;
    const char *rest = first + before + width;
    bool numbered = count > 1 && width && width <= DIGITS_MAX && strcmp(rest, last + before + width) == 0 &&
                    strtoull(last + before, NULL, 10) - strtoull(first + before, NULL, 10) == count - 1;
    if (numbered)
        snprintf(out, 2 * PATH_MAX, "%.*s{%.*s..%.*s}%s", (int)before, first, (int)width, first + before,
                 (int)width, last + before, rest);
    else
        snprintf(out, 2 * PATH_MAX, "%s", first);
    return numbered;
}
