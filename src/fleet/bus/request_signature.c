#include "fleet/bus/request_signature.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/accounts.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/header.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"
#include "fleet/wire/signature.h"

/* --- signing ------------------------------------------------------------------------ */

int request_signature_add(struct arena *arena, const struct request_signature_signer *signer,
                          bool is_direct, struct nats_pub *pub, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT(SIGNATURE_LINE_MAX), header = BUF_INIT(NATS_HEADER_MAX);
    const struct ed25519_pair pair = nats_nkey_pair(signer->key);
    const struct signature_request request = {
        .subject = pub->subject, .payload = pub->payload, .is_direct = is_direct, .time = bus_time()
    };

    signature_sign_request(&pair, &request, &line);
    buf_add_str(&header, pub->header);
    if (nats_header_add(&header, REQUEST_SIGNATURE_SIGNATURE, buf_view(&line), err) < 0 ||
        (signer->jwt &&
         nats_header_add(&header, REQUEST_SIGNATURE_JWT, str_from(signer->jwt), err) < 0))
        return -1;
    pub->header = buf_copy(&header, arena);
    return 0;
}

/* --- verifying ---------------------------------------------------------------------- */

static bool may_publish(const struct claims_user *claims, const char *subject)
{
    const struct grants grants = { .allow = { [GRANT_PUBLISH] = claims->publish } };

    return grant_allows(&grants, GRANT_PUBLISH, subject);
}

/* The key of an operator with permission from the account. */
static int read_operator(struct arena *arena, const struct request_verifier *court, struct str jwt,
                         struct str subject, struct nats_nkey *ret_key, struct err *err)
{
    char fleet[NATS_NKEY_TEXT_SIZE];
    struct claims_user claims = { 0 };
    const char *account;
    struct err why;

    nats_nkey_print_public(court->account, fleet);
    if (jwt.n > REQUEST_SIGNATURE_JWT_MAX || claims_read_user(arena, jwt, &claims, &why) < 0 ||
        nats_nkey_parse_public(str_from(claims.head.sub), ret_key, &why) < 0)
        return err_set(err, ERR_UNSAFE, "the credentials that signed it cannot be read");
    if (accounts_find_fleet(arena, &claims, &account, &why) < 0 || strcmp(account, fleet) != 0 ||
        strcmp(claims.head.iss, accounts_issuer(&claims)) != 0)
        return err_set(err, ERR_UNSAFE, "the credentials that signed it are of another account");
    if (claims.head.exp > 0 && claims.head.exp <= bus_time() / CLOCK_SECOND)
        return err_set(err, ERR_UNSAFE, "the credentials of '%.64s', who signed it, have expired",
                       claims.head.name);
    if (court->is_revoked && court->is_revoked(court->self, claims.head.sub, claims.head.iat))
        return err_set(err, ERR_UNSAFE, "the credentials of '%.64s', who signed it, were revoked",
                       claims.head.name);
    if (!may_publish(&claims, arena_str(arena, subject).p))
        return err_set(err, ERR_UNSAFE,
                       "the credentials of '%.64s', who signed it, do not allow it",
                       claims.head.name);
    return 0;
}

static int check_signature_time(int64_t time, struct err *err)
{
    const int64_t now = bus_time();

    if (time >= now - SIGNATURE_REQUEST_NS && time <= now + SIGNATURE_REQUEST_NS)
        return 0;
    return err_set(err, ERR_UNSAFE,
                   "it was signed %" PRId64 " s %s, %" PRId64
                   " s are allowed: it is old, or clocks differ",
                   time < now ? (now - time) / CLOCK_SECOND : (time - now) / CLOCK_SECOND,
                   time < now ? "ago" : "in the future", SIGNATURE_REQUEST_NS / CLOCK_SECOND);
}

/* It is good once. */
static int remember_signature(struct request_signature_memory *memory, struct str line,
                              int64_t time, struct err *err)
{
    const int64_t now = bus_time();
    unsigned char sum[SHA256_SIZE];
    size_t free = REQUEST_SIGNATURE_MEMORY;

    sha256(line.p, line.n, sum);
    for (size_t i = 0; i < REQUEST_SIGNATURE_MEMORY; i++) {
        if (memory->list[i].until < now)
            free = i;
        else if (memcmp(memory->list[i].sum, sum, sizeof(sum)) == 0)
            return err_set(err, ERR_UNSAFE, "it was delivered before");
    }
    if (free == REQUEST_SIGNATURE_MEMORY)
        return err_set(err, ERR_UNSAFE, "more than %d requests of operators in %" PRId64 " s",
                       REQUEST_SIGNATURE_MEMORY, 2 * SIGNATURE_REQUEST_NS / CLOCK_SECOND);
    memcpy(memory->list[free].sum, sum, sizeof(sum));
    memory->list[free].until = clock_after(time, SIGNATURE_REQUEST_NS);
    return 0;
}

int request_signature_check(struct request_signature_memory *memory,
                            const struct request_verifier *court, const struct nats_msg *msg,
                            struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct signature_request request = { .subject = msg->subject,
                                         .payload = msg->payload,
                                         .is_direct = msg->reply.n > 0 };
    struct nats_nkey key = *court->account;
    struct str line, jwt;
    bool is_operator;

    if (!nats_header_find(msg->header, REQUEST_SIGNATURE_SIGNATURE, &line))
        return err_set(err, ERR_UNSAFE, "it is not signed");
    is_operator = nats_header_find(msg->header, REQUEST_SIGNATURE_JWT, &jwt);
    if (is_operator && read_operator(&arena, court, jwt, msg->subject, &key, err) < 0)
        return -1;
    if (signature_check_request(key.public_key, line, &request, err) < 0 ||
        check_signature_time(request.time, err) < 0)
        return -1;
    return is_operator ? remember_signature(memory, line, request.time, err) : 0;
}
