/*
 * signature - the account's signatures of trees, requests and jobs, so that a server in between
 * cannot change them: exactly which bytes are signed, and the checks.
 *
 * A tree: the signed text has one line each for the place of the manifest
 * ("state-files/_manifest"), the revision, the time, and the SHA-256 of the manifest, which has the
 * sum of each file. The times of one place always increase, however far the clocks of masters
 * differ, so an old tree cannot pass for a new one.
 *
 *     signature_sign_tree(...)  -> the value of FILESET_SIGNATURE
 *     signature_check_tree(...) -> the mark that was signed
 *
 * A request: the subject, which names the peel, whether a reply is requested, the time, and the
 * SHA-256 of the payload, which has job, epoch, function and arguments. The signature is a header
 * of the message, so the payload does not change; see fleet/bus/request_signature.h.
 *
 * A job: its record, without the parts that change while it runs.
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

/* Identifies one publication of a place. */
struct signature_mark {
    uint64_t revision;
    int64_t time; /* nanoseconds since 1970; 0: not signed */
};

/* The stored form. */
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

/* Returns the value to store beside the manifest; `sum` is its SHA-256 as text. */
struct str signature_sign_tree(struct arena *arena, const struct ed25519_pair *signer,
                               const char *place, const char *sum,
                               const struct signature_mark *mark);
/* Fails with ERR_UNSAFE unless the account has signed this sum for this place. */
int signature_check_tree(const unsigned char account[static ED25519_PUBLIC_SIZE], const char *place,
                         const char *sum, struct str stored, struct signature_mark *ret_mark,
                         struct err *err);
/* The mark of a stored signature, which is not checked again. Fails with ERR_INVALID. */
int signature_read_mark(struct str stored, struct signature_mark *ret_mark, struct err *err);

/* --- requests ----------------------------------------------------------------------- */

/* How far the clocks of signer and verifier may differ, and for how long a captured request can be
 * replayed. */
#define SIGNATURE_REQUEST_NS (INT64_C(300) * 1000000000)
/* Bytes of the line "1 <time> <signature>". */
#define SIGNATURE_LINE_MAX 128

struct signature_request {
    struct str subject, payload;
    bool is_direct; /* a reply is requested */
    int64_t time;   /* when it was signed, nanoseconds since 1970 */
};

/* Appends the line. */
void signature_sign_request(const struct ed25519_pair *signer,
                            const struct signature_request *request, struct buf *out);
/* Checks that `key` signed the line for this request, and sets the request's time. Fails with
 * ERR_UNSAFE. */
int signature_check_request(const unsigned char key[static ED25519_PUBLIC_SIZE], struct str line,
                            struct signature_request *request, struct err *err);

/* --- jobs --------------------------------------------------------------------------- */

struct job;

/* Appends the text of the signature. */
void signature_sign_job(const struct ed25519_pair *signer, const struct job *job, struct buf *out);
/* Is the job's `signature` the account's? */
bool signature_is_of_job(const unsigned char account[static ED25519_PUBLIC_SIZE],
                         const struct job *job);

#endif
