#include "fleet/bus/tree_trust.h"

#include <inttypes.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/sys/path.h"

#define SEEN_MODE   0644
#define FOLDER_MODE 0755

/* The last accepted signature. */
struct seen {
    const char *file;
    struct signature_mark mark; /* time 0: nothing was */
};

static const char *find_trust_file(const struct tree_trust *trust, struct arena *arena,
                                   const char *place)
{
    char *name = arena_strdup(arena, place);

    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '.';
    return path_join(arena, trust->seen, name);
}

static int read_seen(const struct tree_trust *trust, struct arena *arena, const char *place,
                     struct seen *ret, struct err *err)
{
    struct str stored;

    *ret = (struct seen){ 0 };
    if (!trust->seen)
        return 0;
    ret->file = find_trust_file(trust, arena, place);
    if (fs_read(arena, ret->file, SIGNATURE_TREE_MAX, &stored, err) < 0)
        return -1;
    if (!stored.p || signature_read_mark(stored, &ret->mark, err) == 0)
        return 0;
    return err_set(err, ERR_UNSAFE,
                   "'%s' is damaged, so it is not known which tree was accepted last; remove it to "
                   "accept the one that is published",
                   ret->file);
}

/* The last accepted signature of the tree that it follows. */
static int read_trusted_base(const struct tree_trust *trust, struct arena *arena,
                             const struct tree_trust_offer *offer, struct seen *ret,
                             struct err *err)
{
    *ret = (struct seen){ 0 };
    return offer->base ? read_seen(trust, arena, offer->base, ret, err) : 0;
}

static int refuse_unsigned_tree(const struct tree_trust *trust, const struct seen *seen,
                                struct err *err)
{
    if (trust->mode == TREE_TRUST_REQUIRE)
        return err_set(err, ERR_UNSAFE,
                       "the tree is not signed, and trust.signed_trees is 'require'");
    return err_set(err, ERR_UNSAFE,
                   "the tree is not signed, and revision %" PRIu64 " was; remove '%s' to accept it",
                   seen->mark.revision, seen->file);
}

static int check_signed(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                        const struct seen *seen, const struct seen *base, struct err *err)
{
    struct signature_mark mark;
    char sum[SHA256_HEX_SIZE];

    sha256_hex(offer->manifest.p, offer->manifest.n, sum);
    if (signature_check_tree(trust->account, offer->place, sum, offer->signature, &mark, err) < 0)
        return -1;
    if (base->mark.time && mark.time <= base->mark.time)
        return err_set(err, ERR_UNSAFE,
                       "the canary of revision %" PRIu64 " was signed before revision %" PRIu64
                       " of all, which was here: it has ended",
                       mark.revision, base->mark.revision);
    if (mark.time >= seen->mark.time)
        return 0;
    return err_set(err, ERR_UNSAFE,
                   "revision %" PRIu64 " was signed before revision %" PRIu64
                   ", which is here; remove '%s' to accept it",
                   mark.revision, seen->mark.revision, seen->file);
}

int tree_trust_check(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                     struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct seen seen, base;

    if (trust->mode == TREE_TRUST_IGNORE)
        return 0;
    if (!trust->has_account)
        return trust->mode != TREE_TRUST_REQUIRE
                   ? 0
                   : err_set(err, ERR_UNSAFE, "it is not known by whom the tree must be signed");
    if (read_seen(trust, &arena, offer->place, &seen, err) < 0 ||
        read_trusted_base(trust, &arena, offer, &base, err) < 0)
        return -1;
    if (offer->signature.p)
        return check_signed(trust, offer, &seen, &base, err);
    if (trust->mode == TREE_TRUST_VERIFY && seen.mark.time == 0 && base.mark.time == 0)
        return 0;
    return refuse_unsigned_tree(trust, seen.mark.time ? &seen : &base, err);
}

int tree_trust_note(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                    struct err *err)
{
    const struct fs_replace_options options = { .attr = { SEEN_MODE, FS_KEEP, FS_KEEP },
                                                .sync = trust->sync,
                                                .record = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (!trust->seen || !trust->has_account || !offer->signature.p ||
        trust->mode == TREE_TRUST_IGNORE)
        return 0;
    if (fs_mkdirs(trust->seen, FOLDER_MODE, err) < 0)
        return -1;
    return fs_keep(find_trust_file(trust, &arena, offer->place), offer->signature, &options, err);
}
