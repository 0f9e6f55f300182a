/* pkgrepo.absent - removes a package repository. */
#include "states/modules/pkg/packages.h"
#include "states/modules/pkgrepo/repos.h"
#include "states/state/module.h"

#define ARGS struct repos_wish

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, repo.name, "its name; for apt also a 'deb' line, searched in all lists", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("baseurl", STR, ARGS, repo.baseurl, "the URL: for apk if the name is not one, for apt in a file with several sources", .flags = PARAM_FILLED, .aliases = "url,uri"),
    PARAM("dist", STR, ARGS, repo.dist, "apt: only this suite of the URL", .flags = PARAM_FILLED),
    PARAM("file", PATH, ARGS, repo.file, "its file"),
    PARAM("refresh", BOOL, ARGS, refresh, "refresh the index after a change", .default_text = "true", .aliases = "refresh_db"),
    PARAM_REFUSED("keyid", "keys are files; remove them with file.absent"),
    PARAM_REFUSED("keyid_ppa", "keys are files; remove them with file.absent"),
    PARAM_REFUSED("keyserver", "keys are files; remove them with file.absent"),
    PARAM_REFUSED("copr", "give the name of the repository"),
    PARAM_REFUSED("ppa_auth", "remove the file from /etc/apt/auth.conf.d"),
    PARAM_REFUSED("ppa", "give the name of the repository"),
    { 0 },
};
/* clang-format on */

static const struct repos_goal absent = { .managed = false, .verb = "removed" };

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    return repos_check(run, args, &absent, err);
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    return repos_apply(run, args, &absent, err);
}

const struct module module_pkgrepo_absent = {
    .name = "pkgrepo.absent",
    .summary = "remove a package repository",
    .details = "Removes the file that pkgrepo.managed created for the name, with its key; a 'deb' "
               "line is removed from every list that has it. Other entries in a file stay.",
    .example = "name: docker\n",
    .params = absent_params,
    .args_size = sizeof(struct repos_wish),
    .lock = PACKAGES_LOCK,
    .validate = repos_validate,
    .check = absent_check,
    .apply = absent_apply,
};
