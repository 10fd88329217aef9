/* Lists of words, separated by commas; blanks around words are ignored. */
#ifndef RUE_WORD_LIST_H
#define RUE_WORD_LIST_H

/* Removes the next word from `*rest`, whose text it changes, and returns it without the blanks around it; "":
 * nothing between two commas; NULL: no more words. */
char *rue_word_list_next(char **list);

#endif
