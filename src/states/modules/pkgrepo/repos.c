#include "states/modules/pkgrepo/repos.h"

#include <ctype.h>
#include <string.h>

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_index.h"
#include "states/modules/file/parent.h"
#include "states/provider/package/repo_line.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"

/* --- arguments ------------------------------------------------------------------------------ */

static bool is_identifier(const char *name)
{
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || name[0] == '-')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
            return false;
    return true;
}

static bool is_single_line(const char *text)
{
    return text && repo_line_is(str_from(text));
}

static bool has_repo_key(const struct package_repo *args)
{
    return args->key_url || args->signedby || args->key_text.n > 0;
}

static int validate_fields(const struct package_repo *args, const struct value *where,
                           struct diags *diags)
{
    const struct {
        const char *key, *text;
        enum validate_kind kind;
    } texts[] = {
        { "name", args->name, VALIDATE_LINE },
        { "humanname", args->humanname, VALIDATE_LINE },
        { "baseurl", args->baseurl, VALIDATE_LINE },
        { "mirrorlist", args->mirrorlist, VALIDATE_WORD },
        { "ppa", args->ppa, VALIDATE_WORD },
        { "file", args->file, VALIDATE_LINE },
        { "dist", args->dist, VALIDATE_WORD },
        { "key_url", args->key_url, VALIDATE_WORD },
        { "signedby", args->signedby, VALIDATE_WORD },
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (validate_text(texts[i].key, texts[i].text, texts[i].kind, where, diags) < 0)
            result = -1;
    if (validate_texts("comps", args->comps, VALIDATE_LINE, where, diags) < 0 ||
        validate_texts("architectures", args->architectures, VALIDATE_WORD, where, diags) < 0)
        result = -1;
    for (size_t i = 0; i < args->options.n; i++)
        if (validate_text("options", args->options.p[i].key, VALIDATE_WORD, where, diags) < 0 ||
            validate_text("options", args->options.p[i].value, VALIDATE_LINE, where, diags) < 0)
            result = -1;
    return result;
}

int repos_validate(const void *wish, const struct value *where, struct diags *diags)
{
    const struct package_repo *args = &((const struct repos_wish *)wish)->repo;
    int result = validate_fields(args, where, diags);
    struct repo_line line;
    struct err err;

    if (!is_single_line(args->name) && !is_identifier(args->name))
        result = value_diag(diags, where,
                            "'%s' is not a valid repository name: use letters, digits, '.', '_' "
                            "and '-', or a whole 'deb' line",
                            args->name);
    if (is_single_line(args->name) && repo_line_parse(str_from(args->name), &line, &err) < 0)
        result = value_diag(diags, where, "%s", err.text);
    if (is_single_line(args->baseurl) && repo_line_parse(str_from(args->baseurl), &line, &err) < 0)
        result = value_diag(diags, where, "%s", err.text);
    if (args->ppa && !has_repo_key(args))
        result = value_diag(diags, where,
                            "a ppa requires its signing key: 'key_url', 'key_text' or 'signedby'");
    if (args->signedby && args->signedby[0] != '/')
        result = value_diag(diags, value_point(where, "signedby"),
                            "'signedby' must be an absolute path");
    if (args->aptkey == PARAM_IS_TRUE) {
        result = value_diag(diags, value_point(where, "aptkey"), "'aptkey' can only be false");
        diag_hint(diags, "keys are files beside the sources, and 'signed-by' names them");
    }
    return result;
}

/* --- files ------------------------------------------------------------------------------------ */

static int fetch_key(void *owner, const char *source, const char *hash, struct str *ret,
                     struct err *err)
{
    return state_source(owner, source, hash, ret, err);
}

static const char *find_codename(struct state_run *run)
{
    const struct value *v = value_path(state_facts(run), STR("os.codename"), '.');

    return v && v->kind == VALUE_STR && v->s.n > 0 ? v->s.p : NULL;
}

static int find_repo_files(struct packages *packages, const struct package_repo *repo,
                           const struct repos_goal *goal, struct package_repo_files *ret,
                           struct err *err)
{
    const struct package_repo_host host = {
        .arena = packages->run->arena,
        .codename = find_codename(packages->run),
        .owner = packages->run,
        .fetch = fetch_key,
    };

    return (goal->managed ? package_repo_managed : package_repo_absent)(packages->manager, host,
                                                                        repo, ret, err);
}

/* --- applying ------------------------------------------------------------------------ */

static bool is_repo_file_same(const struct package_repo_file *file)
{
    return !file->old.p == !file->now.p && str_eq(file->old, file->now);
}

static void report_file(struct state_run *run, const struct package_repo_files *files)
{
    VEC_EACH (&files->list, file) {
        if (is_repo_file_same(file))
            continue;
        if (!file->now.p) {
            state_differs(run, "repo file %s exists and should be absent", file->path);
            state_made(run, "removed repo file %s", file->path);
        } else if (!file->old.p) {
            state_differs(run, "repo file %s does not exist", file->path);
            state_made(run, "created repo file %s", file->path);
        } else {
            state_differs(run, "repo file %s content differs", file->path);
            state_made(run, "changed repo file %s", file->path);
        }
        if (!file->hidden)
            state_diff_content(run, file->path, file->old, file->now);
    }
}

static int put_file(struct state_run *run, const char *path, struct str text, struct err *err)
{
    const struct change_attr keep = CHANGE_KEEP;

    if (!text.p)
        return change_remove(run, path, err);
    if (parent_make(run, path, true, NULL, err) < 0)
        return -1;
    return change_write(run, path, text, &keep, err);
}

static int write_repo_files(struct packages *packages, const struct package_repo_files *files,
                            bool *ret_any, struct err *err)
{
    *ret_any = false;
    VEC_EACH (&files->list, file) {
        if (is_repo_file_same(file))
            continue;
        if (put_file(packages->run, file->path, file->now, err) < 0)
            return -1;
        *ret_any = true;
    }
    return 0;
}

/* A repository whose index cannot be read is not kept. If the manager can, refresh only this
 * one: others may be unreachable. */
static int try_refresh(struct packages *packages, const struct package_repo_files *files,
                       struct err *err)
{
    const struct packages_index how = { .asked = true,
                                        .list = files->list.p[files->list.n - 1].path };
    struct err ignored;

    if (packages_index_refresh(packages, &how, err) == 0)
        return 0;
    VEC_EACH (&files->list, file)
        if (!is_repo_file_same(file)) /* report the first error; the journal has these files */
            (void)put_file(packages->run, file->path, file->old, &ignored);
    return err_wrap(err, "the repository was not kept");
}

/* It is removed even if other repositories cannot be reached. */
static int refresh_after_removal(struct packages *packages, struct err *err)
{
    const struct packages_index how = { .asked = true };

    if (packages_index_refresh(packages, &how, err) == 0)
        return 0;
    if (err->code == ERR_CANCELED)
        return -1;
    state_say(packages->run, "%s", err->text);
    return 0;
}

int repos_check(struct state_run *run, const struct repos_wish *wish, const struct repos_goal *goal,
                struct err *err)
{
    struct package_repo_files files;
    struct packages packages;

    if (packages_open(run, &packages, err) < 0 ||
        find_repo_files(&packages, &wish->repo, goal, &files, err) < 0)
        return -1;
    report_file(run, &files);
    if (!run->differs)
        state_say(run, "repo %s is %s", wish->repo.name, goal->managed ? "up to date" : "absent");
    return 0;
}

int repos_apply(struct state_run *run, const struct repos_wish *wish, const struct repos_goal *goal,
                struct err *err)
{
    struct package_repo_files files;
    struct packages packages;
    bool any;

    if (packages_open(run, &packages, err) < 0 ||
        find_repo_files(&packages, &wish->repo, goal, &files, err) < 0 ||
        write_repo_files(&packages, &files, &any, err) < 0)
        return -1;
    if (!any)
        state_unchanged(run);
    if (any && wish->refresh &&
        (goal->managed ? try_refresh(&packages, &files, err)
                       : refresh_after_removal(&packages, err)) < 0)
        return -1;
    state_say(run, "%s repo %s", goal->verb, wish->repo.name);
    state_detail(run, "name", "%s", wish->repo.name);
    if (goal->managed)
        state_detail(run, "file", "%s", files.list.p[files.list.n - 1].path);
    state_detail(run, "manager", "%s", packages.manager->name);
    return 0;
}
