#include "fleet/master/settings/settings_tree.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/data/value.h"
#include "states/facts/facts.h"
#include "states/settings/sanitize.h"
#include "states/settings/secret_ref.h"
#include "states/settings/settings.h"
#include "states/state/secrets.h"

struct tree_secret {
    struct str text;
    bool is_reference; /* a back-end reference */
    struct secret_ref ref;
};

struct settings_tree {
    atomic_uint holders;
    struct arena arena;
    const char *folder;
    struct map files;   /* struct str by path */
    struct map secrets; /* struct tree_secret by name */
    char sum[SHA256_HEX_SIZE];
};

/* --- reading -------------------------------------------------------------------------- */

static void keep_secret(struct settings_tree *tree, const struct sanitize_secret *secret)
{
    struct tree_secret *kept = ARENA_NEW(&tree->arena, struct tree_secret);
    struct err err;

    kept->text = arena_str(&tree->arena, secret->text);
    kept->is_reference =
        secret->is_reference && secret_ref_parse(kept->text, &kept->ref, &err) == 0;
    (void)map_set(&tree->secrets, str_from(arena_strdup(&tree->arena, secret->name)), kept);
}

int settings_tree_prepare(void *self, struct arena *arena, const char *path, struct str *bytes,
                          struct err *err)
{
    struct settings_tree *tree = self;
    struct sanitized clean;

    if (sanitize_settings(arena, path, *bytes, &clean, err) < 0)
        return -1;
    *bytes = clean.text;
    VEC_EACH (&clean.secrets, secret)
        if (tree)
            keep_secret(tree, secret);
    return 0;
}

/* Trees with equal sums give equal settings. */
static void sum_tree(struct settings_tree *tree, const struct tree_set *set)
{
    struct sha256 sum;

    sha256_init(&sum);
    VEC_EACH (&set->files, file) {
        sha256_add(&sum, file->key, strlen(file->key) + 1);
        sha256_add(&sum, file->sha256, sizeof(file->sha256));
    }
    MAP_EACH (&tree->secrets, entry) {
        const struct tree_secret *secret = entry->value;

        sha256_add(&sum, entry->key.p, entry->key.n + 1);
        sha256_add(&sum, secret->is_reference ? "r" : "v", 1);
        sha256_add(&sum, &secret->text.n, sizeof(secret->text.n));
        sha256_add(&sum, secret->text.p, secret->text.n);
    }
    sha256_end_hex(&sum, tree->sum);
}

static void keep_settings_file(struct settings_tree *tree, const struct tree_set_file *file)
{
    const char *path = file->path[0] ? file->path : file->key;
    struct str *bytes = ARENA_NEW(&tree->arena, struct str);

    *bytes = file->bytes.p ? arena_str(&tree->arena, file->bytes) : (struct str){ NULL, 0 };
    (void)map_set(&tree->files, str_from(arena_strdup(&tree->arena, path)), bytes);
}

struct settings_tree *settings_tree_read(const char *folder, struct err *err)
{
    struct settings_tree *tree = mem_zalloc(sizeof(*tree));
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_set set;

    atomic_init(&tree->holders, 1);
    tree->folder = arena_strdup(&tree->arena, folder);
    tree->files = tree->secrets = (struct map)MAP_INIT_IN(&tree->arena);
    if (tree_set_read(&arena,
                      &(struct tree_set_options){ .folder = folder,
                                                  .prefix = "",
                                                  .prepare = settings_tree_prepare,
                                                  .self = tree,
                                                  .markers = sanitize_tags },
                      &set, err) < 0) {
        settings_tree_drop(tree);
        return NULL;
    }
    VEC_EACH (&set.files, file)
        keep_settings_file(tree, file);
    sum_tree(tree, &set);
    return tree;
}

struct settings_tree *settings_tree_hold(struct settings_tree *tree)
{
    atomic_fetch_add(&tree->holders, 1);
    return tree;
}

void settings_tree_drop(struct settings_tree *tree)
{
    if (!tree || atomic_fetch_sub(&tree->holders, 1) > 1)
        return;
    MAP_EACH (&tree->secrets, entry) {
        const struct tree_secret *secret = entry->value;

        ed25519_wipe((char *)(uintptr_t)secret->text.p, secret->text.n);
    }
    arena_done(&tree->arena);
    free(tree);
}

bool settings_tree_equal(const struct settings_tree *a, const struct settings_tree *b)
{
    return a && b && strcmp(a->sum, b->sum) == 0;
}

size_t settings_tree_secrets(const struct settings_tree *tree)
{
    return map_count(&tree->secrets);
}

/* --- settings of a peel --------------------------------------------------------------- */

struct needs {
    const struct settings_tree *tree;
    struct arena *arena;
    const struct settings_recipient *who;
    struct map names; /* requested names */
    struct settings_view *view;
};

static int open_settings_secret(void *self, struct str name, struct str *ret_text, struct err *err)
{
    struct needs *needs = self;
    const struct settings_recipient *who = needs->who;
    const struct tree_secret *secret = map_find(&needs->tree->secrets, name);
    struct str text;

    if (!secret)
        return err_set(err, ERR_NOT_FOUND, "no secret '%.*s' in the settings", STR_ARG(name));
    text = secret->text;
    if (secret->is_reference && who->fetch(who->self, &secret->ref, who->peel, &text, err) < 0)
        return -1;
    *ret_text = text;
    name = arena_str(needs->arena, name);
    if (!map_set(&needs->names, name, needs))
        VEC_PUSH_IN(needs->arena, &needs->view->secrets,
                    (struct settings_secret){ .name = name.p, .text = text });
    return 0;
}

static int compare_secret_names(const void *a, const void *b)
{
    return strcmp(((const struct settings_secret *)a)->name,
                  ((const struct settings_secret *)b)->name);
}

/* The recipient, and how secrets are filled in. */
struct loading {
    const struct settings_recipient *who;
    placeholder_fn *open;
    void *self;
    settings_basket_fn *basket; /* or NULL */
};

static void hide_marked(void *user, const struct value *doc)
{
    secrets_add_marked(user, doc);
}

/* A mistake may quote a secret. */
static void mask_mistakes(struct secrets *secrets, struct diags *diags)
{
    VEC_EACH (&diags->list, diag) {
        diag->text =
            arena_str(diags->arena, secrets_masked(secrets, diags->arena, str_from(diag->text))).p;
        if (diag->hint)
            diag->hint =
                arena_str(diags->arena, secrets_masked(secrets, diags->arena, str_from(diag->hint)))
                    .p;
    }
}

static int load_masked_settings(const struct settings_tree *tree, struct arena *arena,
                                const struct loading *loading, const struct value **ret,
                                struct diags *diags)
{
    const struct settings_recipient *who = loading->who;
    struct secrets *secrets = secrets_new();
    const struct settings_options options = {
        .folder = tree->folder,
        .files = &tree->files,
        .grains = facts_grains(arena, who->facts),
        .subject = { .id = str_from(who->peel), .facts = who->facts },
        .environment = facts_environment(who->facts),
        .open_secret = loading->open,
        .secret_user = loading->self,
        .basket = loading->basket,
        .basket_user = loading->self,
        .read = hide_marked,
        .read_user = secrets,
        .strict_templates = true,
    };
    const int result = settings_load(arena, &options, ret, diags);

    mask_mistakes(secrets, diags);
    secrets_free(secrets);
    return result;
}

static int load_peel_settings(const struct settings_tree *tree, struct arena *arena,
                              const struct loading *loading, const struct value **ret,
                              struct err *err)
{
    struct diags diags = DIAGS_INIT(arena);

    return load_masked_settings(tree, arena, loading, ret, &diags) < 0 ? diags_to_err(&diags, err)
                                                                       : 0;
}

int settings_tree_resolve(const struct settings_tree *tree, struct arena *arena,
                          const struct settings_recipient *who, struct settings_view *ret,
                          struct err *err)
{
    struct needs needs = { tree, arena, who, MAP_INIT_IN(arena), ret };

    *ret = (struct settings_view){ 0 };
    if (load_peel_settings(tree, arena,
                           &(struct loading){ who, open_settings_secret, &needs, NULL },
                           &ret->settings, err) < 0)
        return -1;
    if (ret->secrets.n > 1)
        qsort(ret->secrets.p, ret->secrets.n, sizeof(ret->secrets.p[0]), compare_secret_names);
    return 0;
}

/* --- a check -------------------------------------------------------------------------- */

struct trial {
    const struct settings_tree *tree;
    bool is_unknown;
};

static int open_trial_secret(void *self, struct str name, struct str *ret_text, struct err *err)
{
    struct trial *trial = self;
    const struct tree_secret *secret = map_find(&trial->tree->secrets, name);

    if (!secret)
        return err_set(err, ERR_NOT_FOUND, "no secret '%.*s' in the settings", STR_ARG(name));
    trial->is_unknown |= secret->is_reference;
    *ret_text = secret->is_reference ? STR(SECRETS_MASK) : secret->text;
    return 0;
}

static int ask_trial_basket(void *user, const struct settings_shared *question, struct arena *arena,
                            struct value *ret, struct err *err)
{
    (void)question;
    (void)arena;
    (void)ret;
    ((struct trial *)user)->is_unknown = true;
    return err_set(err, ERR_UNSUPPORTED, "what other machines share is not known here");
}

int settings_tree_try(const struct settings_tree *tree, struct arena *arena,
                      const struct settings_recipient *who, const struct value **ret,
                      bool *ret_unknown, struct diags *diags)
{
    struct trial trial = { tree, false };
    const struct loading loading = { who, open_trial_secret, &trial, ask_trial_basket };
    const int result = load_masked_settings(tree, arena, &loading, ret, diags);

    *ret_unknown = trial.is_unknown;
    return result;
}

/* --- the public part ------------------------------------------------------------------ */

static int mask_secret(void *self, struct str name, struct str *ret_text, struct err *err)
{
    (void)self;
    (void)name;
    (void)err;
    *ret_text = STR(SECRETS_MASK);
    return 0;
}

static bool is_hidden_value(const struct value *v)
{
    return (v->flags & VALUE_SECRET) ||
           (v->kind == VALUE_STR && str_find(v->s, STR(SECRETS_MASK), 0) != STR_NONE);
}

/* Copies without hidden values. The depth is limited, as in settings (core/data/yaml.h). */
static struct value copy_open(struct arena *arena, const struct value *v)
{
    struct value copy = *v;

    if (v->kind == VALUE_LIST) {
        copy = value_list(value_list_new(arena, v->list->count));
        for (size_t i = 0; i < v->list->count; i++)
            if (!is_hidden_value(&v->list->items[i]))
                value_list_push(arena, copy.list, copy_open(arena, &v->list->items[i]));
    }
    if (v->kind == VALUE_MAP) {
        copy = value_map(value_map_new(arena, v->map->count));
        for (size_t i = 0; i < v->map->count; i++)
            if (!is_hidden_value(&v->map->pairs[i].key) &&
                !is_hidden_value(&v->map->pairs[i].value))
                value_map_append(arena, copy.map, v->map->pairs[i].key,
                                 copy_open(arena, &v->map->pairs[i].value));
    }
    return copy;
}

int settings_tree_disclose(const struct settings_tree *tree, struct arena *arena, const char *peel,
                           const struct value *facts, struct value *ret, struct err *err)
{
    const struct settings_recipient who = { .peel = peel, .facts = facts };
    const struct value *settings;
    struct secrets *secrets;
    struct value masked;

    if (load_peel_settings(tree, arena, &(struct loading){ &who, mask_secret, NULL, NULL },
                           &settings, err) < 0)
        return -1;
    masked = value_copy(arena, settings);
    secrets = secrets_new();
    secrets_add_marked(secrets, &masked);
    secrets_mask_value(secrets, arena, &masked); /* texts that were made from !secret values */
    secrets_free(secrets);
    *ret = copy_open(arena, &masked);
    return 0;
}
