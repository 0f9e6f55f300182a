/* pkgrepo.managed - a repository that packages come from. */
#include "modules/pkg/packages.h"
#include "modules/pkgrepo/repos.h"
#include "state/module.h"

#define ARGS struct repos_wish

/* clang-format off */
static const struct param managed_params[] = {
    PARAM("name", STR, ARGS, repo.name, "its name, for files and sections; for apt also a whole 'deb' line", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("humanname", STR, ARGS, repo.humanname, "what people call it"),
    PARAM("baseurl", STR, ARGS, repo.baseurl, "where it is: an URL; for apt also a whole 'deb' line", .flags = PARAM_FILLED, .aliases = "url,uri"),
    PARAM("mirrorlist", STR, ARGS, repo.mirrorlist, "where a list of such places is; not for apt and apk", .flags = PARAM_FILLED),
    PARAM("ppa", STR, ARGS, repo.ppa, "apt: 'ppa:user/name', with its key", .flags = PARAM_FILLED),
    PARAM("dist", STR, ARGS, repo.dist, "apt: the suite; without: the code name of the system", .flags = PARAM_FILLED),
    PARAM("comps", STRS, ARGS, repo.comps, "apt: components, as a list or 'main,contrib'; without: main", .aliases = "components"),
    PARAM("architectures", STRS, ARGS, repo.architectures, "apt: only for these"),
    PARAM("file", PATH, ARGS, repo.file, "the file it stands in; without: one named after it; for apt a name in '.sources' gets a paragraph, others a line"),
    PARAM("key_url", STR, ARGS, repo.key_url, "where its signing key is: an URL, or a path of the state tree; rpm: gpgkey", .flags = PARAM_FILLED, .aliases = "gpgkey"),
    PARAM("key_hash", STR, ARGS, repo.key_hash, "sha256=... or sha512=... of the key", .flags = PARAM_FILLED),
    PARAM("key_text", TEXT, ARGS, repo.key_text, "the signing key itself; a file in '.gpg' gets its bytes, others its letters"),
    PARAM("signedby", STR, ARGS, repo.signedby, "apt: the file of the key, which is made when a key is given", .flags = PARAM_FILLED),
    PARAM("aptkey", TRISTATE, ARGS, repo.aptkey, "apt: false, as Salt's files have it: keys are files"),
    PARAM("options", STRMAP, ARGS, repo.options, "more options of the line, or keys of the section"),
    PARAM("enabled", BOOL, ARGS, repo.enabled, "it is used", .default_text = "true"),
    PARAM("disabled", BOOL, ARGS, repo.disabled, "it is there, but not used"),
    PARAM("gpgcheck", BOOL, ARGS, repo.gpgcheck, "signatures are checked", .default_text = "true"),
    PARAM("clean_file", BOOL, ARGS, repo.clean_file, "nothing else stands in the file"),
    PARAM("refresh", BOOL, ARGS, refresh, "refresh the index after a change", .default_text = "true", .aliases = "refresh_db"),
    PARAM_REFUSED("keyid", "key servers are not asked; give key_url or key_text"),
    PARAM_REFUSED("keyserver", "key servers are not asked; give key_url or key_text"),
    PARAM_IDLE("gpgautoimport", "keys are imported when key_url is given"),
    PARAM_IDLE("consolidate", "a repository stands in one file; see clean_file"),
    PARAM_REFUSED("copr", "give baseurl and gpgkey"),
    PARAM_REFUSED("ppa_auth", "write the name and password into a file of /etc/apt/auth.conf.d"),
    PARAM_REFUSED("comments", "write comments with file.managed"),
    PARAM_REFUSED("priority", "write it into options"),
    PARAM_REFUSED("trusted", "write options: {trusted: 'yes'}"),
    { 0 },
};
/* clang-format on */

static const struct repos_goal managed = { .managed = true, .verb = "managed" };

static int managed_check(struct state_run *run, const void *args, struct err *err)
{
    return repos_check(run, args, &managed, err);
}

static int managed_apply(struct state_run *run, const void *args, struct err *err)
{
    return repos_apply(run, args, &managed, err);
}

const struct module module_pkgrepo_managed = {
    .name = "pkgrepo.managed",
    .summary = "a repository that packages come from",
    .details =
        "In the files and the form of the package manager: a line in /etc/apt/sources.list.d, "
        "whose key is kept beside it and named by signed-by, or a section of a .repo file, or "
        "what else it has. A parameter that its repositories have no place for is refused. Keys "
        "are compared whole, so a new one is noticed. When the index cannot be refreshed the files "
        "are "
        "put back, and the next run tries again.",
    .example = "name: docker\nbaseurl: https://download.docker.com/linux/debian\ndist: bookworm\n"
               "comps: [stable]\nkey_url: https://download.docker.com/linux/debian/gpg\n",
    .params = managed_params,
    .args_size = sizeof(struct repos_wish),
    .lock = PACKAGES_LOCK,
    .validate = repos_validate,
    .check = managed_check,
    .apply = managed_apply,
};
