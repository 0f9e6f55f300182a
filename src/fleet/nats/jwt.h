/*
 * jwt - signed claims of operators, accounts and users.
 *
 *     base64url(header) . base64url(claims) . base64url(signature)
 *
 * The claims are a value tree of any shape; what must hold is checked here: the algorithm, who
 * signed (`iss`), and that the signature is theirs. Times (`exp`, `nbf`) are for the caller to
 * compare with a clock. Pure. Memory: the arena. Threads: any.
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

/* Check form, algorithm and signature; `ret_claims` are the claims then. The issuer is the key of
 * their `iss`: whether that issuer may be trusted is for the caller to decide. */
int nats_jwt_decode(struct arena *arena, struct str text, struct value *ret_claims,
                    struct err *err);
/* Append the text of `claims`, signed by `issuer`, which must have a seed. `iss` and `jti` are set
 * here, whatever the claims say. */
int nats_jwt_encode(struct arena *arena, const struct value *claims, const struct nats_nkey *issuer,
                    struct buf *out, struct err *err);

#endif
