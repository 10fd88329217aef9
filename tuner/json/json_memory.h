/* Counts failed allocations of the JSON library. The library hides them: it reports invalid JSON, or silently
 * drops parts of a text. */
#ifndef RUE_JSON_MEMORY_H
#define RUE_JSON_MEMORY_H

/* Starts counting, for the whole process. */
void rue_json_memory_watch(void);

/* The number of failed allocations since then. Thread-safe. */
unsigned rue_json_memory_failures(void);

#endif
