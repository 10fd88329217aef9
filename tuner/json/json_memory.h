/* Tells JSON that makes no sense from JSON that there was no memory for: the library reports both alike, and
 * leaves out of a text what it could not allocate. */
#ifndef RUE_JSON_MEMORY_H
#define RUE_JSON_MEMORY_H

/* Counts from now on, for the whole process. */
void rue_json_memory_watch(void);

/* The allocations that failed in the JSON library since then. Thread-safe. */
unsigned rue_json_memory_failures(void);

#endif
