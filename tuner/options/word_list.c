#include "word_list.h"

#include <stddef.h>
#include <string.h>

char *rue_word_list_next(char **list)
{
    char *word = strsep(list, ",");
    if (!word) return NULL;
    word += strspn(word, " \t");
    size_t length = strlen(word);
    while (length && strchr(" \t", word[length - 1])) length--;
    word[length] = 0;
    return word;
}
