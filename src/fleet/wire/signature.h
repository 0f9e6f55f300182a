/*
 * signature - what the account of a fleet has signed, so that a server in between can change
 * nothing of it: exactly which bytes that are, and whether a signature is theirs.
 *
 * A tree: the text that is signed has one line for each fact: the place of its manifest
 * ("state-files/_manifest"), its revision, the time, and the SHA-256 of the manifest, which has
 * that of each file. The time of each signature of a place is later than that of the one before it,
 * whatever the clocks of masters say, so it tells an old tree from a new one.
 *
 *     signature_sign_tree(...)  -> the value of FILESET_SIGNATURE
 *     signature_check_tree(...) -> the mark that was signed
 *
 * A request: the subject, which names the peel, whether an answer is asked for, the time, and the
 * SHA-256 of the payload, which has job, epoch, function and arguments. It is a line of the header
 * of the message, so the payload stays what it is; fleet/bus/request_signature.h has the rest.
 *
 * A job: what masters take over from each other, without what changes while it runs.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_WIRE_SIGNATURE_H
#define FLEET_WIRE_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/ed25519.h"
#include "core/base/str.h"
#include "core/data/record.h"

struct arena;
struct buf;
struct err;

/* --- trees -------------------------------------------------------------------------- */

/* Bytes of a stored signature. */
#define SIGNATURE_TREE_MAX 256

/* Which publication of a place it is. */
struct signature_mark {
    uint64_t revision;
    int64_t time; /* nanoseconds since 1970; 0: it is not signed */
};

/* As it is stored. */
struct signature_tree {
    uint64_t revision;
    int64_t time;
    struct str signature;
};
extern const struct record_type signature_tree_type;

/* The key beside a manifest: "_signature" of "_manifest", "states.signature.7" of
 * "states.manifest.7". */
const char *signature_key(struct arena *arena, const char *manifest_key);
/* The place of a manifest. */
const char *signature_place(struct arena *arena, const char *bucket, const char *manifest_key);

/* What is stored beside the manifest; `sum` is its SHA-256 as text. */
struct str signature_sign_tree(struct arena *arena, const struct ed25519_pair *signer,
                               const char *place, const char *sum,
                               const struct signature_mark *mark);
/* Has the account signed the manifest with this sum for this place? Fails with ERR_UNSAFE. */
int signature_check_tree(const unsigned char account[static ED25519_PUBLIC_SIZE], const char *place,
                         const char *sum, struct str stored, struct signature_mark *ret_mark,
                         struct err *err);
/* The mark of a stored signature that was checked before. Fails with ERR_INVALID. */
int signature_read_mark(struct str stored, struct signature_mark *ret_mark, struct err *err);

/* --- requests ----------------------------------------------------------------------- */

/* How far the clocks of who signs and who verifies may be apart, and for how long a request that
 * somebody kept can be delivered. */
#define SIGNATURE_REQUEST_NS (INT64_C(300) * 1000000000)
/* Of the line: "1 <time> <signature>". */
#define SIGNATURE_LINE_MAX 128

struct signature_request {
    struct str subject, payload;
    bool is_direct; /* an answer is asked for */
    int64_t time;   /* when it was signed, nanoseconds since 1970 */
};

/* Append the line. */
void signature_sign_request(const struct ed25519_pair *signer,
                            const struct signature_request *request, struct buf *out);
/* The line, which must be signed by `key` for all of the request but its time, which is returned
 * in it. Fails with ERR_UNSAFE. */
int signature_check_request(const unsigned char key[static ED25519_PUBLIC_SIZE], struct str line,
                            struct signature_request *request, struct err *err);

/* --- jobs --------------------------------------------------------------------------- */

struct job;

/* Append the text of the signature. */
void signature_sign_job(const struct ed25519_pair *signer, const struct job *job, struct buf *out);
/* Has the account signed what `signature` of the job says? */
bool signature_is_of_job(const unsigned char account[static ED25519_PUBLIC_SIZE],
                         const struct job *job);

#endif
