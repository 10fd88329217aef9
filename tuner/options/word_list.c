#include "word_list.h"

#include <stddef.h>
#include <string.h>

char *rue_word_list_next(char **rest)
{
    char *word = strsep(rest, ",");
    if (!word) return NULL;
    word += strspn(word, " \t");
    size_t length = strlen(word);
    while (length && strchr(" \t", word[length - 1])) length--;
    word[length] = 0;
    return word;
}
