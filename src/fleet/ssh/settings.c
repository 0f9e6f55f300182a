#include "fleet/ssh/settings.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/tree.h"
#include "core/data/value.h"
#include "states/facts/facts.h"
#include "states/settings/sanitize.h"
#include "states/settings/settings.h"

/* --- reading -------------------------------------------------------------------------- */

static bool has_tag(struct str text)
{
    for (const char *const *tag = sanitize_tags; *tag; tag++)
        if (str_find(text, str_from(*tag), 0) != STR_NONE)
            return true;
    return false;
}

static int take_secrets(struct arena *arena, const char *path, struct str *text,
                        struct ssh_settings *settings, struct err *err)
{
    struct sanitized clean;

    if (sanitize_settings(arena, path, *text, &clean, err) < 0)
        return err_wrap(err, "%s/%s", settings->folder, path);
    VEC_EACH (&clean.secrets, secret)
        (void)map_set(&settings->secrets, str_from(secret->name), secret);
    *text = clean.text;
    return 0;
}

/* One without secrets is read again when it is needed. */
static int read_settings_file(struct arena *arena, const struct tree *tree, const char *path,
                              struct ssh_settings *settings, struct err *err)
{
    struct str *held = ARENA_NEW(arena, struct str), text;

    if (tree_read_small(tree, arena, path, SETTINGS_FILE_MAX, &text, err) < 0) {
        if (err->code != ERR_LIMIT) /* it is a mistake of who includes it */
            return -1;
    } else if (text.p && has_tag(text)) {
        if (take_secrets(arena, path, &text, settings, err) < 0)
            return -1;
        *held = text;
    }
    (void)map_set(&settings->files, str_from(path), held);
    return 0;
}

static int read_settings_files(struct arena *arena, const struct tree *tree,
                               struct ssh_settings *settings, struct err *err)
{
    struct tree_names names;

    if (tree_list(tree, arena, ".", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (read_settings_file(arena, tree, *name, settings, err) < 0)
            return -1;
    return 0;
}

int ssh_settings_open(struct arena *arena, const char *folder, struct ssh_settings *ret,
                      struct err *err)
{
    struct tree *tree = tree_new(folder, err);
    int rc;

    if (!tree)
        return -1;
    *ret = (struct ssh_settings){ .folder = folder,
                                  .files = MAP_INIT_IN(arena),
                                  .secrets = MAP_INIT_IN(arena) };
    rc = read_settings_files(arena, tree, ret, err);
    tree_free(tree);
    return rc;
}

/* --- one machine ------------------------------------------------------------------------ */

static int open_ssh_secret(void *self, struct str name, struct str *ret_text, struct err *err)
{
    const struct ssh_settings *settings = self;
    const struct sanitize_secret *secret = map_find(&settings->secrets, name);

    if (!secret)
        return err_set(err, ERR_NOT_FOUND, "no secret '%.*s' in the settings", STR_ARG(name));
    if (secret->is_reference)
        return err_set(err, ERR_UNSUPPORTED,
                       "'" SANITIZE_SECRET_FROM "' is for the settings of a fleet: masters have "
                       "secret back-ends, 'zester ssh' has none");
    *ret_text = secret->text;
    return 0;
}

int ssh_settings_render(const struct ssh_settings *settings, struct arena *arena, const char *name,
                        const struct value *facts, struct value *ret, struct diags *diags)
{
    struct ssh_settings own = *settings;
    const struct settings_options options = {
        .folder = settings->folder,
        .files = &settings->files,
        .grains = facts_grains(arena, facts),
        .subject = { .id = str_from(name), .facts = facts },
        .environment = facts_environment(facts),
        .open_secret = open_ssh_secret,
        .secret_user = &own,
        .strict_templates = true,
    };
    const struct value *rendered;

    if (settings_load(arena, &options, &rendered, diags) < 0)
        return -1;
    *ret = *rendered;
    return 0;
}
