#include "states/modules/git/mirror.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "states/modules/git/repo.h"
#include "states/provider/tool.h"
#include "states/state/module.h"

/* --- references ------------------------------------------------------------------------ */

/* "commit<blank>name" lines as a map of names to commits, without peeled tags and HEAD. */
static struct map read_mirror_refs(struct state_run *run, const struct repo_args *args,
                                   struct str text, char separator)
{
    struct map refs = MAP_INIT_IN(run->arena);

    while (text.p && text.n > 0) {
        struct str name = str_cut(&text, '\n');
        const struct str commit = str_cut(&name, separator);

        if (!name.p || !str_starts(name, STR("refs/")) || str_ends(name, STR("^{}")))
            continue;
        if (args->mirror || str_starts(name, STR("refs/heads/")) ||
            str_starts(name, STR("refs/tags/")))
            map_set(&refs, arena_str(run->arena, name),
                    arena_strndup(run->arena, commit.p, commit.n));
    }
    return refs;
}

static int read_refs_here(struct state_run *run, const struct repo_args *args, struct map *ret,
                          struct err *err)
{
    struct str text;

    if (repo_git(run, args, args->path, TOOL("for-each-ref", "--format=%(objectname) %(refname)"),
                 &text, err) < 0)
        return -1;
    *ret = read_mirror_refs(run, args, text, ' ');
    return 0;
}

static int read_refs_there(struct state_run *run, const struct repo_args *args, struct map *ret,
                           struct err *err)
{
    struct str text;

    if (repo_git(run, args, NULL, TOOL("ls-remote", "--", args->url), &text, err) < 0)
        return -1;
    *ret = read_mirror_refs(run, args, text, '\t');
    return 0;
}

static bool is_mirror_same(const struct map *refs, struct str name, const char *commit)
{
    const char *have = map_find(refs, name);

    return have && strcmp(have, commit) == 0;
}

/* How many references differ. */
static size_t count_differing(const struct repo_args *args, const struct map *here,
                              const struct map *there)
{
    size_t n = 0;

    MAP_EACH (there, ref)
        n += !is_mirror_same(here, ref->key, ref->value);
    MAP_EACH (here, ref)
        n += args->mirror && !map_has(there, ref->key);
    return n;
}

/* --- states ------------------------------------------------------------------------------ */

static int find_mirror(struct state_run *run, const struct repo_args *args, const struct repo *now,
                       struct map *ret_here, size_t *ret_differing, struct err *err)
{
    struct map there;

    if (read_refs_here(run, args, ret_here, err) < 0 || read_refs_there(run, args, &there, err) < 0)
        return -1;
    *ret_differing = count_differing(args, ret_here, &there);
    if (!now->url || strcmp(now->url, args->url) != 0)
        ++*ret_differing;
    return 0;
}

int mirror_check(struct state_run *run, const struct repo_args *args, struct err *err)
{
    struct repo now;
    struct map here;
    size_t differing;

    if (repo_look(run, args, &now, err) < 0)
        return -1;
    if (!now.is_repo) {
        state_differs(
            run, now.exists ? "target %s is not a bare repository" : "target %s does not exist",
            args->path);
        return 0;
    }
    if (find_mirror(run, args, &now, &here, &differing, err) < 0)
        return -1;
    if (!now.url || strcmp(now.url, args->url) != 0)
        state_differs(run, "remote URL mismatch in %s: got \"%s\", want \"%s\"", args->path,
                      now.url ? now.url : "", args->url);
    else if (differing > 0)
        state_differs(run, "%s is behind %s: %zu references differ", args->path, args->remote,
                      differing);
    else
        state_say(run, "%s is up to date", args->path);
    return 0;
}

static int note_refs(struct state_run *run, const struct map *refs, struct err *err)
{
    struct value_map *was = value_map_new(run->arena, map_count(refs));

    MAP_EACH (refs, ref)
        value_map_set(run->arena, was, value_str(ref->key), value_text(ref->value));
    return state_note(run, "refs", value_map(was), err);
}

static int update_mirror(struct state_run *run, const struct repo_args *args,
                         const struct repo *now, const struct map *here, struct err *err)
{
    if (repo_note(run, now, err) < 0 || note_refs(run, here, err) < 0 ||
        repo_set_url(run, args, now, err) < 0)
        return -1;
    return repo_git(run, args, args->path,
                    args->mirror
                        ? TOOL("fetch", "--quiet", "--prune", args->remote, "+refs/*:refs/*")
                        : TOOL("fetch", "--quiet", args->remote, "+refs/heads/*:refs/heads/*",
                               "+refs/tags/*:refs/tags/*"),
                    NULL, err);
}

int mirror_apply(struct state_run *run, const struct repo_args *args, struct err *err)
{
    struct repo now;
    struct map here;
    size_t differing = 0;

    if (repo_look(run, args, &now, err) < 0 ||
        (now.is_repo && find_mirror(run, args, &now, &here, &differing, err) < 0))
        return -1;
    if (now.is_repo && differing == 0) {
        state_unchanged(run);
        return 0;
    }
    if ((now.is_repo ? update_mirror(run, args, &now, &here, err) : repo_clone(run, args, err)) < 0)
        return -1;
    buf_clear(&run->text);
    state_say(run, now.is_repo ? "updated %s to latest" : "cloned %s", args->path);
    state_detail(run, "url", "%s", args->url);
    state_detail(run, "target", "%s", args->path);
    return 0;
}

/* --- revert -------------------------------------------------------------------------------- */

static int restore_refs(struct state_run *run, const struct repo_args *args,
                        const struct value *was, struct err *err)
{
    struct map here;

    if (read_refs_here(run, args, &here, err) < 0)
        return -1;
    for (size_t i = 0; i < was->map->count; i++) {
        const char *name = was->map->pairs[i].key.s.p, *commit = was->map->pairs[i].value.s.p;

        if (!is_mirror_same(&here, str_from(name), commit) &&
            repo_git(run, args, args->path, TOOL("update-ref", name, commit), NULL, err) < 0)
            return -1;
    }
    MAP_EACH (&here, ref)
        if (!value_get(was, ref->key.p) &&
            repo_git(run, args, args->path, TOOL("update-ref", "-d", ref->key.p), NULL, err) < 0)
            return -1;
    state_say(run, "restored the references of %s (revert)", args->path);
    return 0;
}

int mirror_revert(struct state_run *run, const struct repo_args *args, struct err *err)
{
    const struct value *was = state_noted(run, "refs");
    struct repo now;

    if (!was || was->kind != VALUE_MAP)
        return repo_revert(run, args, err);
    if (repo_look(run, args, &now, err) < 0)
        return -1;
    if (!now.is_repo) {
        state_unchanged(run);
        return 0;
    }
    if (run->test) {
        state_say(run, "would restore the references of %s", args->path);
        return 0;
    }
    if (repo_restore_url(run, args, err) < 0)
        return -1;
    return restore_refs(run, args, was, err);
}
