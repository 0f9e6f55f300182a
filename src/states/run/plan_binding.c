#include "states/run/plan_binding.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/base/hex.h"
#include "states/state/outcome.h"
#include "core/sys/chance.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* --- the key -------------------------------------------------------------------------- */

/* Two dry runs may create it at once: the existing one wins. */
static int make_binding_key(struct arena *arena, const char *data_dir, const char *path,
                            struct str *ret, struct err *err)
{
    static const struct fs_replace_options fresh = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                                     .fresh = true };
    unsigned char bytes[PLAN_BINDING_KEY_SIZE];

    chance_bytes(bytes, sizeof(bytes));
    if (fs_mkdirs(data_dir, 0700, err) < 0)
        return -1;
    (void)fs_replace(path, (struct str){ (const char *)bytes, sizeof(bytes) }, &fresh, err);
    return fs_read(arena, path, PLAN_BINDING_KEY_SIZE, ret, err);
}

void plan_binding_find_key(const char *data_dir, struct plan_binding_key *ret_key)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char hex[SHA256_HEX_SIZE];
    const char *path;
    struct str bytes;
    struct err ignored; /* without a key there are no hashes; the reader of the plan reports that */

    *ret_key = (struct plan_binding_key){ 0 };
    if (!data_dir)
        return;
    path = path_join(&arena, data_dir, PLAN_BINDING_KEY_FILE);
    if (fs_read(&arena, path, PLAN_BINDING_KEY_SIZE, &bytes, &ignored) < 0 ||
        (!bytes.p && make_binding_key(&arena, data_dir, path, &bytes, &ignored) < 0) || !bytes.p ||
        bytes.n != PLAN_BINDING_KEY_SIZE)
        return;
    memcpy(ret_key->bytes, bytes.p, PLAN_BINDING_KEY_SIZE);
    sha256_hex(bytes.p, bytes.n, hex);
    memcpy(ret_key->id, hex, PLAN_BINDING_ID_SIZE - 1);
}

const char *plan_binding_hash(struct arena *arena, const struct plan_binding_key *key,
                              const unsigned char hash[static SHA256_SIZE])
{
    unsigned char digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    sha256_hmac((struct str){ (const char *)key->bytes, sizeof(key->bytes) },
                (struct str){ (const char *)hash, SHA256_SIZE }, digest);
    hex_write(digest, sizeof(digest), hex);
    return arena_printf(arena, "%s:%s", key->id, hex);
}

/* --- the plan ------------------------------------------------------------------------- */

static bool is_true_key(const struct value *v, const char *key)
{
    const struct value *flag = value_get(v, key);

    return value_is(flag, VALUE_BOOL) && flag->b;
}

/* A record is a list of machines; this one must be in it. */
static const struct value *find_machine(const struct value *record, const char *peel_id)
{
    for (size_t i = 0; record->kind == VALUE_LIST && i < record->list->count; i++)
        if (str_is(value_get_view(&record->list->items[i], "peel_id"), peel_id))
            return &record->list->items[i];
    return NULL;
}

int plan_binding_read(struct arena *arena, const struct value *record, const char *peel_id,
                      struct plan_binding *ret, struct err *err)
{
    const struct value *machine = find_machine(record, peel_id);
    const struct value *results = value_get(machine, "results");

    if (!machine || !value_is(results, VALUE_LIST))
        return err_set(err, ERR_INVALID, "it contains no dry run of '%s'", peel_id);
    if (!is_true_key(machine, "test"))
        return err_set(err, ERR_INVALID, "it contains a run of '%s', not a dry run", peel_id);
    *ret = (struct plan_binding){ .changes = MAP_INIT_IN(arena) };
    for (size_t i = 0; i < results->list->count; i++) {
        const struct value *state = &results->list->items[i];
        const char *hash = value_get_text(state, "plan_hash");
        const struct plan_binding_change change = { value_get_view(state, "diff"),
                                                    hash ? hash : "" };

        if (is_true_key(state, "changed"))
            plan_binding_add(arena, ret, arena_str(arena, value_get_view(state, "name")).p,
                             &change);
    }
    return 0;
}

void plan_binding_add(struct arena *arena, struct plan_binding *plan_binding, const char *name,
                      const struct plan_binding_change *change)
{
    const struct plan_binding_change own = { arena_str(arena, change->diff),
                                             arena_strdup(arena, change->hash) };
    void **place = map_place(&plan_binding->changes, str_from(name));
    struct plan_binding_changes *changes;

    if (!*place)
        *place = ARENA_NEW(arena, struct plan_binding_changes);
    changes = *place;
    VEC_PUSH_IN(arena, &changes->list, own);
}

bool plan_binding_has(const struct plan_binding *plan_binding, const char *name)
{
    return map_has(&plan_binding->changes, str_from(name));
}

/* Why a change differs from the plan; NULL: it does not. */
static const char *find_mismatch(const struct plan_binding_change *planned,
                                 const struct state_result *now)
{
    if (!planned)
        return "would change, but is not in the plan";
    if (!str_eq(planned->diff, now->diff))
        return "would change differently from the plan";
    if (!planned->hash[0])
        return "is in the plan without a hash: its dry run was made by an older version, or could "
               "not "
               "write to its data folder";
    if (!now->hash)
        return "cannot be compared with the plan: the data folder cannot be written";
    if (strncmp(planned->hash, now->hash, PLAN_BINDING_ID_SIZE) != 0)
        return "cannot be compared with the plan, which was made with another data folder";
    return strcmp(planned->hash, now->hash) == 0
               ? NULL
               : "would change differently from the plan, in parts not shown";
}

/* The same for all planned changes of its name, of which one must fit. */
static const char *find_mismatch_of_all(const struct plan_binding_changes *planned,
                                        const struct state_result *now)
{
    const char *mismatch = find_mismatch(NULL, now);

    for (size_t i = 0; planned && mismatch && i < planned->list.n; i++)
        mismatch = find_mismatch(&planned->list.p[i], now);
    return mismatch;
}

int plan_binding_compare(const struct plan_binding *plan_binding, const struct run_result *now,
                         struct diags *diags)
{
    int result = 0;

    VEC_EACH (&now->states, state) {
        const char *mismatch =
            find_mismatch_of_all(map_find(&plan_binding->changes, str_from(state->name)), state);

        if (state->outcome == OUTCOME_CHANGED && mismatch)
            result = diag_add(diags, (struct place){ 0 }, "%s %s:\n%.*s", state->name, mismatch,
                              STR_ARG(state->diff));
    }
    if (result < 0)
        diag_hint(diags, "nothing was changed; review and store a new dry run");
    return result;
}
