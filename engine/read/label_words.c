#include "label_words.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

enum { CLASSES_MAX = 1 << 24 };

struct rue_label_word {
    char *text;
    char *name;     /* of the class whose number it is; NULL */
    uint64_t place; /* where it stands first */
    int32_t number; /* of the word */
    int32_t label;
    bool is_number;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct rue_label_word *)a)->text, ((const struct rue_label_word *)b)->text);
}

static int by_text_of(const void *a, const void *b)
{
    return by_text(*(struct rue_label_word *const *)a, *(struct rue_label_word *const *)b);
}

static void free_word(void *word)
{
    free(((struct rue_label_word *)word)->text);
    free(((struct rue_label_word *)word)->name);
    free(word);
}

void rue_label_words_close(struct rue_label_words *words)
{
    tdestroy(words->tree, free_word);
    free(words->words);
    *words = (struct rue_label_words){0};
}

/* NULL without memory. */
static struct rue_label_word *make_word(const char *text, size_t bytes, uint64_t place)
{
    struct rue_label_word *word = calloc(1, sizeof *word);
    if (!word || !(word->text = strndup(text, bytes))) return free(word), NULL;
    char *end;
    errno = 0;
    long number = strtol(word->text, &end, 10);
    const char *digits = word->text + (*word->text == '-');
    word->is_number = *digits >= '0' && *digits <= '9' && !*end && !errno && number == (int32_t)number;
    word->label = word->is_number ? (int32_t)number : 0;
    word->place = place;
    return word;
}

rue_status rue_label_words_add(struct rue_label_words *words, const char *text, size_t bytes, uint64_t place,
                               int32_t *number, rue_error *error)
{
    rue_status status = rue_array_grow(&words->words, &words->capacity, words->count + 1,
                                       sizeof *words->words, "labels", error);
    if (status != RUE_OK) return status;
    struct rue_label_word *word = make_word(text, bytes, place);
    struct rue_label_word **found = word ? tsearch(word, &words->tree, by_text) : NULL;
    if (!found) {
        if (word) free_word(word);
        return rue_fail_memory(error, "labels", bytes);
    }
    if (*found == word) {
        word->number = (int32_t)words->count;
        words->words[words->count++] = word;
    } else {
        free_word(word);
    }
    *number = (*found)->number;
    return RUE_OK;
}

rue_status rue_label_words_name(struct rue_label_words *words, int32_t number, const char *name,
                                rue_error *error)
{
    struct rue_label_word *word = words->words[number];
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
static rue_status name_classes(const struct rue_label_words *words, struct rue_index *index, rue_error *error)
{
    size_t count = 0;
    for (size_t w = 0; w < words->count; w++)
        if (words->words[w]->name && (size_t)words->words[w]->label >= count)
            count = (size_t)words->words[w]->label + 1;
    const char **names = calloc(count + 1, sizeof *names);
    if (!names) return rue_fail_memory(error, "class names", count * sizeof *names);
    for (size_t w = 0; w < words->count; w++)
        if (words->words[w]->name) names[words->words[w]->label] = words->words[w]->name;
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < count; c++)
        status = rue_index_add_class(index, names[c] ? names[c] : "", names[c] ? strlen(names[c]) : 0, error);
    free(names);
    return status;
}

static rue_status sort_classes(struct rue_label_words *words, struct rue_index *index, rue_error *error)
{
    struct rue_label_word **sorted = malloc(words->count * sizeof *sorted);
    if (!sorted) return rue_fail_memory(error, "class names", words->count * sizeof *sorted);
    memcpy(sorted, words->words, words->count * sizeof *sorted);
    qsort(sorted, words->count, sizeof *sorted, by_text_of);
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < words->count; c++) {
        sorted[c]->label = (int32_t)c;
        status = rue_index_add_class(index, sorted[c]->text, strlen(sorted[c]->text), error);
    }
    free(sorted);
    return status;
}

rue_status rue_label_words_finish(struct rue_label_words *words, struct rue_index *index, uint64_t *place,
                                  rue_error *error)
{
    const struct rue_label_word *other = NULL;
    size_t numbers = 0;
    bool named = false;
    for (size_t w = 0; w < words->count; w++) {
        numbers += words->words[w]->is_number;
        if (!words->words[w]->is_number && !other) other = words->words[w];
        named |= words->words[w]->name != NULL;
    }
    if (other) *place = other->place;
    if (other && named)
        return rue_fail(error, RUE_DATA,
                        "the label '%.100s' is no number, so that it has no class's name beside it",
                        other->text);
    if (other && numbers > words->count - numbers)
        return rue_fail(error, RUE_DATA, "the label '%.100s' is no whole number, though most are: correct it",
                        other->text);
    rue_status status = other ? sort_classes(words, index, error) : name_classes(words, index, error);
    for (uint64_t i = 0; status == RUE_OK && i < index->count; i++)
        index->entries[i].label = words->words[index->entries[i].label]->label;
    return status;
}
