#include "master/tree_signer.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "nats/nkey.h"
#include "sys/clock.h"
#include "wire/fileset.h"

static const char *place_of(const struct tree_signer *signer, struct arena *arena)
{
    return signature_place(arena, signer->bucket, FILESET_MANIFEST);
}

static bool check_stored(const struct tree_signer *signer, const char *sum,
                         struct signature_mark *ret_mark)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    return signer->size > 0 &&
           signature_check_tree(signer->account->public_key, place_of(signer, &arena), sum,
                                str_bytes(signer->stored, signer->size), ret_mark, &err) == 0;
}

/* What is too long is not a signature. */
static void keep_stored(struct tree_signer *signer, struct str value, uint64_t revision)
{
    if (revision < signer->stamp)
        return;
    signer->stamp = revision;
    signer->size = value.p && value.n <= sizeof(signer->stored) ? value.n : 0;
    if (signer->size > 0)
        memcpy(signer->stored, value.p, value.n);
}

void tree_signer_note(struct tree_signer *signer, struct str key, struct str value,
                      uint64_t revision)
{
    struct signature_mark mark;

    if (!signer->account)
        return;
    if (str_is(key, FILESET_SIGNATURE))
        keep_stored(signer, value, revision);
    else if (str_is(key, FILESET_MANIFEST))
        sha256_hex(value.p, value.n, signer->manifest);
    else
        return;
    if (check_stored(signer, signer->manifest, &mark) && mark.time > signer->last)
        signer->last = mark.time;
}

bool tree_signer_is_good(const struct tree_signer *signer, const char *sum, uint64_t number)
{
    struct signature_mark mark;

    return !signer->account || (check_stored(signer, sum, &mark) && mark.revision == number);
}

struct str tree_signer_sign(const struct tree_signer *signer, struct arena *arena, const char *sum,
                            uint64_t number)
{
    const struct ed25519_pair pair = nats_nkey_pair(signer->account);
    const int64_t now = clock_wall();
    const struct signature_mark mark = { .revision = number,
                                         .time = now > signer->last ? now : signer->last + 1 };

    return signature_sign_tree(arena, &pair, place_of(signer, arena), sum, &mark);
}
