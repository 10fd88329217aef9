/* Labels as text has them: numbers, or words that name classes. All of them together say which: where each is
 * an integer they are numbers, else the classes are the words in bytewise order, as folders are. A word among
 * labels most of which are integers is an error: all numbers would mean something else for its sake. Words
 * may have integers among them ("0" to "9" beside "a" to "z"). Not thread-safe until it is finished. */
#ifndef RUE_LABEL_WORDS_H
#define RUE_LABEL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct rue_label_words;

/* RUE_MEMORY, as all of them. */
rue_status rue_label_words_open(struct rue_label_words **out, rue_error *error) RUE_MUST_CHECK;
void rue_label_words_close(struct rue_label_words *words);

/* The label of the next item, which stands at `place`: a line, the number of an item. It takes memory for
 * each different word, and four bytes for each item. */
rue_status rue_label_words_add(struct rue_label_words *words, const char *word, size_t bytes, uint64_t place,
                               rue_error *error) RUE_MUST_CHECK;

/* Gives the class whose number the label of the last item is a name; only where labels are numbers. RUE_DATA
 * without a place, "class 3 is called 'a' and 'b'", where it has another already or the number is too large.
 */
rue_status rue_label_words_name(struct rue_label_words *words, const char *name,
                                rue_error *error) RUE_MUST_CHECK;

/* After the last item. RUE_DATA for a word that is not to be among the others; `*place` is where it stands
 * first. */
rue_status rue_label_words_finish(struct rue_label_words *words, uint64_t *place,
                                  rue_error *error) RUE_MUST_CHECK;

/* Of a finished one. Classes: the words, or the names that were given; 0 where there are neither. */
int32_t rue_label_words_label(const struct rue_label_words *words, uint64_t item);
size_t rue_label_words_class_count(const struct rue_label_words *words);
const char *rue_label_words_class(const struct rue_label_words *words, size_t class_index);

#endif
