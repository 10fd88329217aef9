/* A member of a struct as data: its external name, kind and offset. Readers and writers of structs
 * (json_fields.h) use the same table of rows. The last row of a table has no name. */
#ifndef RUE_FIELD_H
#define RUE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rue_field_kind {
    RUE_FIELD_FLAG,    /* bool */
    RUE_FIELD_NUMBER,  /* uint64_t, size_t, uint32_t or int, from `least` to `most`; SIZE_MAX: unknown */
    RUE_FIELD_WORD,    /* an enum: an index into `words` */
    RUE_FIELD_REAL,    /* double; NaN: unknown, an error if `most` is not 0; a writer keeps the limits too */
    RUE_FIELD_SECONDS, /* double, in seconds; written as a whole number of nanoseconds */
    RUE_FIELD_TEXT,    /* char [] */
    RUE_FIELD_STRING,  /* const char *, borrowed from the document that is read; NULL: unknown */
    RUE_FIELD_CONFIG,  /* struct rue_config */
    RUE_FIELD_STRUCT,  /* a struct with `fields` */
    RUE_FIELD_LIST,    /* an array of structs, or of the kind of the only row of `fields`, whose name is "" */
    RUE_FIELD_OTHER,   /* as `type` says */
};

/* A member is empty if it is equal to its `fallback`, "", NaN or NULL; a real that may be null is also empty
 * at 0. A flag named "" is not written: it is true if the struct is present. */
enum rue_field_flags {
    RUE_FIELD_OPTIONAL = 1, /* null or absent: the member keeps its value */
    RUE_FIELD_NULL = 2,     /* empty is written as null; optional */
    RUE_FIELD_OMIT = 4,     /* empty is omitted; optional */
    RUE_FIELD_KEY = 8,      /* the whole struct is empty if this member is */
    RUE_FIELD_WRITTEN = 16, /* written, never read */
    RUE_FIELD_POINTED = 32, /* of a list: the member is a pointer; the list is allocated when it is read */
    RUE_FIELD_CHANGES_TIMES = 64, /* of a workload: the loading time depends on it */
};

struct rue_field {
    const char *name;
    enum rue_field_kind kind;
    size_t offset, bytes; /* set by RUE_FIELD_AT */
    unsigned flags;
    uint64_t least, most; /* most 0: the maximum of the member's type; of a list: elements */
    uint64_t fallback;
    const char *const *words; /* NULL at the end */
    const struct rue_field *fields;
    size_t count, element; /* of a list: offset of the size_t that counts it, bytes of an element */
    const struct rue_field_type *type;
};

#define RUE_FIELD_AT(structure, member) \
    .offset = offsetof(struct structure, member), .bytes = sizeof(((struct structure *)0)->member)

/* Reads or sets a flag, count or word of a struct. */
uint64_t rue_field_number(const struct rue_field *field, const void *from);
void rue_field_set_number(const struct rue_field *field, void *to, uint64_t value);

/* The largest valid number, or number of elements of a list. */
uint64_t rue_field_most(const struct rue_field *field);

#endif
