/*
 * larder - what peels share with each other: the bucket of baskets, read as it changes.
 *
 * An entry is forgotten when it is older than the bucket keeps it: a watch does not tell that.
 *
 * Memory: values are copied. Threads: the loop's.
 */
#ifndef MASTER_PEELS_LARDER_H
#define MASTER_PEELS_LARDER_H

#include "base/str.h"

struct err;
struct larder;
struct nats_js;

/* A larger value is ignored and reported. */
#define LARDER_VALUE_MAX ((size_t)64 << 10)

struct larder *larder_new(const struct nats_js *js, struct err *err);
/* NULL is fine. */
void larder_free(struct larder *larder);

/* What a peel shares under a name, as MessagePack; a NULL view: nothing. Good until the loop turns.
 */
struct str larder_get(const struct larder *larder, const char *peel, const char *name);

#endif
