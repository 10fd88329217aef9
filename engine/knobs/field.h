/* A member of a struct as data: what it is called outside of the program, what it holds, where it lies. Who
 * writes or reads structs walks over a table of such rows (json_fields.h does), which ends with a row that
 * has no name, so that what is written and what is read back are the same. */
#ifndef RUE_FIELD_H
#define RUE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rue_field_kind {
    RUE_FIELD_FLAG,    /* bool */
    RUE_FIELD_NUMBER,  /* uint64_t, size_t, uint32_t or int, from `least` to `most`; SIZE_MAX: not known */
    RUE_FIELD_WORD,    /* an enum: the index of one of `words` */
    RUE_FIELD_REAL,    /* double; NaN: not known, and refused where `most` is not 0 */
    RUE_FIELD_SECONDS, /* the same in seconds, written as a whole number of nanoseconds */
    RUE_FIELD_TEXT,    /* char [] */
    RUE_FIELD_STRING,  /* const char *, borrowed from what is read; NULL: not known */
    RUE_FIELD_CONFIG,  /* struct rue_config */
    RUE_FIELD_STRUCT,  /* a struct with `fields` */
    RUE_FIELD_LIST,    /* an array of them, or of what the only row of `fields`, which is called "", is */
    RUE_FIELD_OTHER,   /* what `type` says */
};

/* A member is empty that is its `fallback`, "", NaN or NULL; a real that is 0 only where it may be null. A
 * flag that is called "" is not written: it says whether the struct is there. */
enum rue_field_flags {
    RUE_FIELD_OPTIONAL = 1,       /* null or absent leaves alone what the struct holds */
    RUE_FIELD_NULL = 2,           /* empty is written as null; optional */
    RUE_FIELD_OMIT = 4,           /* empty is left out; optional */
    RUE_FIELD_KEY = 8,            /* the whole struct is empty where this is */
    RUE_FIELD_WRITTEN = 16,       /* is never read */
    RUE_FIELD_POINTED = 32,       /* of a list: the member is a pointer to it, allocated when it is read */
    RUE_FIELD_CHANGES_TIMES = 64, /* of a workload: loading takes another time with another value */
};

struct rue_field {
    const char *name;
    enum rue_field_kind kind;
    size_t offset, bytes; /* RUE_FIELD_AT gives both */
    unsigned flags;
    uint64_t least, most; /* most 0: as much as the member holds; of a list, elements */
    uint64_t fallback;
    const char *const *words; /* NULL at the end */
    const struct rue_field *fields;
    size_t count, element; /* of a list: offset of the size_t that counts it, bytes of an element */
    const struct rue_field_type *type;
};

#define RUE_FIELD_AT(structure, member) \
    .offset = offsetof(struct structure, member), .bytes = sizeof(((struct structure *)0)->member)

/* A flag, count or word of the struct `from`, and how it is set. */
uint64_t rue_field_number(const struct rue_field *field, const void *from);
void rue_field_set_number(const struct rue_field *field, void *to, uint64_t value);

/* The most that a count or a list may be. */
uint64_t rue_field_most(const struct rue_field *field);

#endif
