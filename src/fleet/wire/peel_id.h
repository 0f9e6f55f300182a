/*
 * peel_id - the names of machines, as people write them and as one token of a subject.
 *
 * On the wire an id is a letter or digit, then letters, digits, '_' and '-'. Host names have dots,
 * which would divide the token: they are written as '_', and shown as dots again. So names must not
 * contain an underscore: it would be shown as a dot.
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

/* Is it a valid id on the wire? */
bool peel_id_is_valid(struct str id);

/* The wire form of a name. Fails with ERR_INVALID. */
int peel_id_encode(struct str name, char id[static PEEL_ID_SIZE], struct err *err);
/* Like peel_id_encode, but also accepts an id. */
int peel_id_read(const char *word, char id[static PEEL_ID_SIZE], struct err *err);
/* The name of an id, with its dots. */
void peel_id_decode(struct str id, char name[static PEEL_ID_SIZE]);
/* The same, in the arena. An invalid id is returned unchanged. */
const char *peel_id_name(struct arena *arena, const char *id);

/* "localhost" and similar names, which any machine may have. */
bool peel_id_is_local_name(struct str name);

#endif
