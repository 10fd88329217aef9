/* Labels as text has them: numbers, or words that name classes. All of them together say which: where each is
 * an integer they are numbers, else the classes are the words in bytewise order, as folders are. A word among
 * labels most of which are integers is an error: all numbers would mean something else for its sake. Words
 * may have integers among them ("0" to "9" beside "a" to "z"). */
#ifndef RUE_LABEL_WORDS_H
#define RUE_LABEL_WORDS_H

#include "source_index.h"

/* All zeros is an empty one. */
struct rue_label_words {
    struct rue_label_word **words; /* [count] in the order in which they came */
    size_t count, capacity;
    void *tree; /* of tsearch */
};

void rue_label_words_close(struct rue_label_words *words);

/* Sets `*number` to that of the word `text` [bytes], which stands at `place`: a line, the number of an item.
 * It takes memory for each different word. RUE_MEMORY, as all of them. */
rue_status rue_label_words_add(struct rue_label_words *words, const char *text, size_t bytes, uint64_t place,
                               int32_t *number, rue_error *error) RUE_MUST_CHECK;

/* Gives the class whose number the word is a name; only where labels are numbers. RUE_DATA without a place,
 * "class 3 is called 'a' and 'b'", where it has another already or the number is too large. */
rue_status rue_label_words_name(struct rue_label_words *words, int32_t number, const char *name,
                                rue_error *error) RUE_MUST_CHECK;

/* Makes the labels of all items, which are numbers of words so far, the real ones, and adds the classes: the
 * words, or the names that were given. RUE_DATA for a word that is not to be among the others; `*place` is
 * where it stands first. */
rue_status rue_label_words_finish(struct rue_label_words *words, struct rue_index *index, uint64_t *place,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
