/*
 * peel_id - the names of machines, as people write them and as one token of a subject.
 *
 * On the wire an id is a letter or digit, then letters, digits, '_' and '-'. Host names have dots,
 * which would divide the token: they are written as '_', and shown as dots again. So a name that a
 * person gives may not have an underscore of its own, since it would come back as a dot.
 *
 *     web-01.example.com   <->   web-01_example_com
 *
 * Pure. Threads: any.
 */
#ifndef FLEET_WIRE_PEEL_ID_H
#define FLEET_WIRE_PEEL_ID_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;

#define PEEL_ID_MAX  128
#define PEEL_ID_SIZE (PEEL_ID_MAX + 1)

/* Is it one on the wire? */
bool peel_id_is_valid(struct str id);

/* A name that a person or a machine gives, as it goes on the wire. Fails with ERR_INVALID. */
int peel_id_encode(struct str name, char id[static PEEL_ID_SIZE], struct err *err);
/* The id of a machine that a person names: by its id, or as above. */
int peel_id_read(const char *word, char id[static PEEL_ID_SIZE], struct err *err);
/* How an id is shown: dots where they were. */
void peel_id_decode(struct str id, char name[static PEEL_ID_SIZE]);
/* The same in the arena. What is not a valid id comes back as it is. */
const char *peel_id_name(struct arena *arena, const char *id);

/* "localhost" and its like, which every machine may be called. */
bool peel_id_is_local_name(struct str name);

#endif
