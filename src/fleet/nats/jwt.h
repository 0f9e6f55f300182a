/*
 * jwt - signed claims of operators, accounts and users.
 *
 *     base64url(header) . base64url(claims) . base64url(signature)
 *
 * The claims are a value tree of any shape. Checked here are the algorithm and the signature of the
 * issuer (`iss`). The caller checks the times (`exp`, `nbf`). Pure. Memory: the arena. Threads:
 * any.
 */
#ifndef FLEET_NATS_JWT_H
#define FLEET_NATS_JWT_H

#include "core/base/str.h"
#include "core/data/value.h"

struct arena;
struct buf;
struct err;
struct nats_nkey;

#define NATS_JWT_MAX ((size_t)1 << 20)

/* Checks form, algorithm and signature by the key in `iss`. The caller decides whether to trust
 * that issuer. */
int nats_jwt_decode(struct arena *arena, struct str text, struct value *ret_claims,
                    struct err *err);
/* Appends the text of `claims`, signed by `issuer`, which must have a seed. Sets `iss` and `jti`.
 * */
int nats_jwt_encode(struct arena *arena, const struct value *claims, const struct nats_nkey *issuer,
                    struct buf *out, struct err *err);

#endif
