/*
 * source_hash - the expected hash of a source.
 *
 *     sha256=<hex>, sha256:<hex>     an algorithm and its digits
 *     <hex>                          the digits alone: their number implies the algorithm
 *     salt://x.sha256, https://...   a file of checksums, as sha256sum or a BSD tool
 *                                    writes it; the line with the source's name is used
 *
 * md5, sha1, sha224, sha256, sha384 and sha512 are known.
 *
 * Memory: borrowed from the text. Threads: any.
 */
#ifndef STATES_STATE_SOURCE_HASH_H
#define STATES_STATE_SOURCE_HASH_H

#include <stdbool.h>

#include "core/base/str.h"

struct err;
struct digest;

struct source_hash {
    const struct digest *kind; /* NULL: none */
    struct str digits;
};

/* False when it is not a hash; it may be the address of a checksum file. */
bool source_hash_parse(struct str text, struct source_hash *ret);
/* Find the hash of the file `name` (the last part of a path or address) in a checksum file. A
 * single hash without a name matches any file. The strongest algorithm wins. Fails with
 * ERR_NOT_FOUND. */
int source_hash_find(struct str checksums, const char *name, struct source_hash *ret,
                     struct err *err);
/* The next line of a checksum file with a hash, and its name, which may be empty. False at the end.
 *  */
bool source_hash_next(struct str *checksums, struct str *ret_name, struct source_hash *ret);
/* Do two paths have the same last part? */
bool source_hash_names(struct str a, struct str b);
int source_hash_check(const struct source_hash *hash, const char *source, struct str bytes,
                      struct err *err);
/* The same for an open file, read piece by piece from its beginning. */
int source_hash_check_fd(const struct source_hash *hash, const char *source, int fd,
                         struct err *err);

#endif
