/* Counts failed allocations of the JSON library: it reports them like invalid JSON, and silently drops what
 * it could not allocate from a text. */
#ifndef RUE_JSON_MEMORY_H
#define RUE_JSON_MEMORY_H

/* Starts counting, for the whole process. */
void rue_json_memory_watch(void);

/* The number of failed allocations since then. Thread-safe. */
unsigned rue_json_memory_failures(void);

#endif
