#include "fleet/master/files/tree_signer.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/nats/nkey.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"

/* The keys of each place. */
static const struct {
    const char *manifest, *signature;
} keys[] = {
    { FILESET_MANIFEST, FILESET_SIGNATURE },
    { CANARY_MANIFEST, CANARY_SIGNATURE },
};

static size_t find_signature_place(const char *manifest)
{
    return strcmp(manifest, CANARY_MANIFEST) == 0;
}

static bool check_stored(const struct tree_signer *signer, size_t at, const char *sum,
                         struct signature_mark *ret_mark)
{
    const struct tree_signer_place *place = &signer->places[at];
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    return place->size > 0 &&
           signature_check_tree(signer->account->public_key,
                                signature_place(&arena, signer->bucket, keys[at].manifest), sum,
                                str_bytes(place->stored, place->size), ret_mark, &err) == 0;
}

/* Too long for a signature. */
static void keep_stored(struct tree_signer_place *place, struct str value, uint64_t revision)
{
    if (revision < place->stamp)
        return;
    place->stamp = revision;
    place->size = value.p && value.n <= sizeof(place->stored) ? value.n : 0;
    if (place->size > 0)
        memcpy(place->stored, value.p, value.n);
}

static void note_at(struct tree_signer *signer, size_t at, struct str key, struct str value,
                    uint64_t revision)
{
    struct tree_signer_place *place = &signer->places[at];
    struct signature_mark mark;

    if (str_is(key, keys[at].signature))
        keep_stored(place, value, revision);
    else if (str_is(key, keys[at].manifest))
        sha256_hex(value.p, value.n, place->manifest);
    else
        return;
    if (check_stored(signer, at, place->manifest, &mark) && mark.time > signer->last)
        signer->last = mark.time;
}

void tree_signer_note(struct tree_signer *signer, struct str key, struct str value,
                      uint64_t revision)
{
    for (size_t at = 0; signer->account && at < ARRAY_LEN(keys); at++)
        note_at(signer, at, key, value, revision);
}

bool tree_signer_is_good(const struct tree_signer *signer, const struct tree_signer_tree *tree)
{
    struct signature_mark mark;

    return !signer->account ||
           (check_stored(signer, find_signature_place(tree->manifest), tree->sum, &mark) &&
            mark.revision == tree->number);
}

struct str tree_signer_sign(const struct tree_signer *signer, struct arena *arena,
                            const struct tree_signer_tree *tree)
{
    const struct ed25519_pair pair = nats_nkey_pair(signer->account);
    const int64_t now = bus_time();
    const struct signature_mark mark = { .revision = tree->number,
                                         .time = now > signer->last ? now : signer->last + 1 };

    return signature_sign_tree(arena, &pair, signature_place(arena, signer->bucket, tree->manifest),
                               tree->sum, &mark);
}
