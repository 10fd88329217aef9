/* A list of words as people type it: commas between them, blanks around them do no harm. */
#ifndef RUE_WORD_LIST_H
#define RUE_WORD_LIST_H

/* Takes the next word off `*rest`, changing the text: without the blanks around it, "" where there is none
 * between two commas. NULL behind the last word. */
char *rue_word_list_next(char **rest);

#endif
