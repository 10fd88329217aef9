#include "label_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash.h"

enum { CLASSES_MAX = 1 << 24 };

/* A word that occurs. */
struct word {
    char *text;
    char *name;     /* of the class whose number it is; NULL */
    uint64_t place; /* where it stands first */
    int32_t label;
    bool is_number;
};

struct rue_label_words {
    uint32_t *items; /* [count] which word */
    size_t count, capacity;
    struct word *words; /* [word_count] in the order in which they came */
    size_t word_count, word_capacity;
    uint32_t *slots; /* [slot_count], a power of two, at most half of them taken: word + 1 */
    size_t slot_count;
    const char **classes;
    size_t class_count;
};

rue_status rue_label_words_open(struct rue_label_words **out, rue_error *error)
{
    *out = calloc(1, sizeof **out);
    return *out ? RUE_OK : rue_fail_memory(error, "labels", sizeof **out);
}

void rue_label_words_close(struct rue_label_words *words)
{
    if (!words) return;
    for (size_t w = 0; w < words->word_count; w++) {
        free(words->words[w].text);
        free(words->words[w].name);
    }
    free(words->items);
    free(words->words);
    free(words->slots);
    free(words->classes);
    free(words);
}

/* The slot of the word, or the empty one where it belongs. */
static uint32_t *slot_of(const struct rue_label_words *words, const char *text, size_t bytes)
{
    size_t at = rue_hash(RUE_HASH_START, text, bytes) & (words->slot_count - 1);
    for (;; at = (at + 1) & (words->slot_count - 1)) {
        uint32_t *slot = &words->slots[at];
        if (!*slot) return slot;
        const char *there = words->words[*slot - 1].text;
        if (strncmp(there, text, bytes) == 0 && there[bytes] == 0) return slot;
    }
}

static rue_status widen(struct rue_label_words *words, rue_error *error)
{
    if (2 * words->word_count < words->slot_count) return RUE_OK;
    size_t count = words->slot_count ? 2 * words->slot_count : 128;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) return rue_fail_memory(error, "labels", count * sizeof *slots);
    free(words->slots);
    words->slots = slots;
    words->slot_count = count;
    for (size_t w = 0; w < words->word_count; w++)
        *slot_of(words, words->words[w].text, strlen(words->words[w].text)) = (uint32_t)w + 1;
    return RUE_OK;
}

static struct word make_word(const char *text, size_t bytes)
{
    struct word word = {.text = strndup(text, bytes)};
    if (!word.text) return word;
    char *end;
    errno = 0;
    long number = strtol(word.text, &end, 10);
    const char *digits = word.text + (*word.text == '-');
    word.is_number = *digits >= '0' && *digits <= '9' && !*end && !errno && number == (int32_t)number;
    word.label = word.is_number ? (int32_t)number : 0;
    return word;
}

rue_status rue_label_words_add(struct rue_label_words *words, const char *text, size_t bytes, uint64_t place,
                               rue_error *error)
{
    bytes = strnlen(text, bytes);
    rue_status status = rue_array_grow(&words->items, &words->capacity, words->count + 1,
                                       sizeof *words->items, "labels", error);
    if (status == RUE_OK)
        status = rue_array_grow(&words->words, &words->word_capacity, words->word_count + 1,
                                sizeof *words->words, "labels", error);
    if (status == RUE_OK) status = widen(words, error);
    if (status != RUE_OK) return status;
    uint32_t *slot = slot_of(words, text, bytes);
    if (!*slot) {
        struct word word = make_word(text, bytes);
        if (!word.text) return rue_fail_memory(error, "labels", bytes);
        word.place = place;
        words->words[words->word_count++] = word;
        *slot = (uint32_t)words->word_count;
    }
    words->items[words->count++] = *slot - 1;
    return RUE_OK;
}

rue_status rue_label_words_name(struct rue_label_words *words, const char *name, rue_error *error)
{
    struct word *word = &words->words[words->items[words->count - 1]];
    if (word->name && strcmp(word->name, name) == 0) return RUE_OK;
    if (word->name)
        return rue_fail(error, RUE_DATA, "class %.40s is called '%.100s' and '%.100s'", word->text,
                        word->name, name);
    if (word->is_number && (word->label < 0 || word->label >= CLASSES_MAX))
        return rue_fail(error, RUE_DATA, "no class has the number %.40s", word->text);
    word->name = strdup(name);
    return word->name ? RUE_OK : rue_fail_memory(error, "class names", strlen(name));
}

/* Names at the numbers of their classes. */
static rue_status name_classes(struct rue_label_words *words, rue_error *error)
{
    for (size_t w = 0; w < words->word_count; w++)
        if (words->words[w].name && (size_t)words->words[w].label >= words->class_count)
            words->class_count = (size_t)words->words[w].label + 1;
    words->classes = calloc(words->class_count + 1, sizeof *words->classes);
    if (!words->classes) return rue_fail_memory(error, "class names", words->class_count * sizeof(char *));
    for (size_t c = 0; c < words->class_count; c++) words->classes[c] = "";
    for (size_t w = 0; w < words->word_count; w++)
        if (words->words[w].name) words->classes[words->words[w].label] = words->words[w].name;
    return RUE_OK;
}

static int bytewise(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rue_status sort_classes(struct rue_label_words *words, rue_error *error)
{
    words->class_count = words->word_count;
    words->classes = malloc(words->class_count * sizeof *words->classes);
    if (!words->classes) return rue_fail_memory(error, "class names", words->class_count * sizeof(char *));
    for (size_t w = 0; w < words->word_count; w++) words->classes[w] = words->words[w].text;
    qsort(words->classes, words->class_count, sizeof *words->classes, bytewise);
    for (size_t c = 0; c < words->class_count; c++)
        words->words[*slot_of(words, words->classes[c], strlen(words->classes[c])) - 1].label = (int32_t)c;
    return RUE_OK;
}

rue_status rue_label_words_finish(struct rue_label_words *words, uint64_t *place, rue_error *error)
{
    const struct word *other = NULL;
    size_t numbers = 0;
    bool named = false;
    for (size_t w = 0; w < words->word_count; w++) {
        numbers += words->words[w].is_number;
        if (!words->words[w].is_number && !other) other = &words->words[w];
        named |= words->words[w].name != NULL;
    }
    if (!other) return name_classes(words, error);
    *place = other->place;
    if (named)
        return rue_fail(error, RUE_DATA,
                        "the label '%.100s' is no number, so that it has no class's name beside it",
                        other->text);
    if (numbers > words->word_count - numbers)
        return rue_fail(error, RUE_DATA, "the label '%.100s' is no whole number, though most are: correct it",
                        other->text);
    return sort_classes(words, error);
}

int32_t rue_label_words_label(const struct rue_label_words *words, uint64_t item)
{
    return words->words[words->items[item]].label;
}

size_t rue_label_words_class_count(const struct rue_label_words *words)
{
    return words->class_count;
}

const char *rue_label_words_class(const struct rue_label_words *words, size_t class_index)
{
    return words->classes[class_index];
}
