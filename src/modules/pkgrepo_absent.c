/* pkgrepo.absent - a repository that is not used any more. */
#include "base/err.h"
#include "modules/packages.h"
#include "modules/repos.h"
#include "state/module.h"

#define ARGS struct absent_args

struct absent_args {
    struct repos_args repo;
    bool refresh;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, repo.name, "its name; for apt also a 'deb' line, looked for in all lists", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("baseurl", STR, ARGS, repo.baseurl, "apk: the address, when the name is not", .flags = PARAM_FILLED, .aliases = "url,uri"),
    PARAM("file", PATH, ARGS, repo.file, "the file it stands in"),
    PARAM("refresh", BOOL, ARGS, refresh, "refresh the index after a change", .default_text = "true", .aliases = "refresh_db"),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;

    return repos_validate(&want->repo, where, diags);
}

static int look(struct state_run *run, const struct absent_args *want, struct packages *packages,
                struct repos_files *files, struct err *err)
{
    if (packages_open(run, packages, err) < 0)
        return -1;
    return repos_find_absent(packages, &want->repo, files, err);
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    struct repos_files files;
    struct packages packages;

    if (look(run, args, &packages, &files, err) < 0)
        return -1;
    repos_tell(run, &files);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct repos_files files;
    struct packages packages;

    if (look(run, want, &packages, &files, err) < 0 ||
        repos_apply(&packages, &files, want->refresh, err) < 0)
        return -1;
    state_say(run, "removed repo %s", want->repo.name);
    state_detail(run, "name", "%s", want->repo.name);
    state_detail(run, "manager", "%s", packages.manager->name);
    return 0;
}

const struct module module_pkgrepo_absent = {
    .name = "pkgrepo.absent",
    .summary = "a repository that is not used any more",
    .details = "The file that pkgrepo.managed made for the name goes, with its key; a 'deb' line "
               "goes from every list that has it. What else stands in a file stays.",
    .example = "name: docker\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = PACKAGES_LOCK,
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
};
