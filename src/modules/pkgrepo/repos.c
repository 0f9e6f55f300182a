#include "modules/pkgrepo/repos.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "modules/pkg/packages.h"
#include "modules/pkg/packages_index.h"
#include "modules/file/parent.h"
#include "provider/armor.h"
#include "provider/repo_line.h"
#include "provider/repo_section.h"
#include "provider/repo_stanza.h"
#include "state/change.h"
#include "state/module.h"
#include "state/validate.h"
#include "sys/fs.h"
#include "sys/path.h"

#define FILE_MAX ((size_t)4 << 20)
#define TEXT_MAX ((size_t)8 << 20)
#define KEYS_MAX 40
#define PPA_HOST "https://ppa.launchpadcontent.net"

/* --- mistakes ------------------------------------------------------------------------------- */

static bool is_identifier(const char *name)
{
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || name[0] == '-')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
            return false;
    return true;
}

bool repos_is_line(const char *text)
{
    return text && repo_line_is(str_from(text));
}

static bool has_key(const struct repos_args *args)
{
    return args->key_url || args->signedby || args->key_text.n > 0;
}

static int validate_fields(const struct repos_args *args, const struct value *where,
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
    const struct repos_args *args = &((const struct repos_wish *)wish)->repo;
    int result = validate_fields(args, where, diags);
    struct repo_line line;
    struct err err;

    if (!repos_is_line(args->name) && !is_identifier(args->name))
        result = value_diag(diags, where,
                            "'%s' is no name of a repository: letters, digits, '.', '_' and '-', "
                            "or a whole 'deb' line",
                            args->name);
    if (repos_is_line(args->name) && repo_line_parse(str_from(args->name), &line, &err) < 0)
        result = value_diag(diags, where, "%s", err.text);
    if (repos_is_line(args->baseurl) && repo_line_parse(str_from(args->baseurl), &line, &err) < 0)
        result = value_diag(diags, where, "%s", err.text);
    if (args->ppa && !has_key(args))
        result = value_diag(diags, where,
                            "a ppa wants its signing key: 'key_url', 'key_text' or 'signedby'");
    if (args->signedby && args->signedby[0] != '/')
        result =
            value_diag(diags, value_point(where, "signedby"), "'signedby' is an absolute path");
    if (args->aptkey == PARAM_IS_TRUE) {
        result = value_diag(diags, value_point(where, "aptkey"), "'aptkey' can only be false");
        diag_hint(diags, "keys are files beside the sources, and 'signed-by' names them");
    }
    return result;
}

/* --- files ------------------------------------------------------ */

int repos_add_file(struct packages *packages, struct repos_files *files, const char *path,
                   struct repos_file **ret, struct err *err)
{
    struct repos_file file = { .path = path };

    if (fs_read(packages->run->arena, path, FILE_MAX, &file.old, err) < 0)
        return -1;
    file.now = file.old;
    VEC_PUSH_IN(packages->run->arena, &files->list, file);
    *ret = &files->list.p[files->list.n - 1];
    return 0;
}

/* Letters and digits of a line, for names of files. */
static const char *slug(struct arena *arena, const struct repo_line *line)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    size_t scheme = str_find(line->uri, STR("://"), 0);
    const struct str parts[] = {
        str_from_offset(line->uri, scheme == STR_NONE ? 0 : scheme + 3),
        line->suite,
    };

    for (size_t k = 0; k < ARRAY_LEN(parts); k++)
        for (size_t i = 0; i < parts[k].n; i++)
            if (isalnum((unsigned char)parts[k].p[i]))
                buf_add_char(&text, parts[k].p[i]);
            else if (text.n > 0 && text.p[text.n - 1] != '-')
                buf_add_char(&text, '-');
    return buf_copy(&text, arena).p;
}

/* --- apt -------------------------------------------------------- */

struct apt {
    struct repo_line line;
    const char *id, *file;
    bool own; /* the file is named after the repository */
};

static const char *join(struct arena *arena, struct param_strs words, const char *between)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    for (size_t i = 0; i < words.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? between : "", words.p[i]);
    return buf_copy(&text, arena).p;
}

/* As people write them: a list, or 'main,contrib', or 'main contrib'. */
static const char *components(struct arena *arena, struct param_strs words)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    for (size_t i = 0; i < words.n; i++) {
        struct str rest = str_from(words.p[i]);

        while (rest.p) {
            const struct str word = str_trim(str_cut(&rest, ','));

            if (word.n > 0)
                buf_printf(&text, "%s%.*s", text.n > 0 ? " " : "", STR_ARG(word));
        }
    }
    return buf_copy(&text, arena).p;
}

static const char *codename(struct state_run *run)
{
    const struct value *v = value_path(state_facts(run), STR("os.codename"), '.');

    return v && v->kind == VALUE_STR && v->s.n > 0 ? v->s.p : NULL;
}

static int compose_line(struct packages *packages, const struct repos_args *args,
                        struct repo_line *line, struct err *err)
{
    struct arena *arena = packages->run->arena;
    const char *ppa = args->ppa && strncmp(args->ppa, "ppa:", 4) == 0 ? args->ppa + 4 : args->ppa;
    const char *uri = ppa ? arena_printf(arena, "%s/%s/ubuntu", PPA_HOST, ppa) : args->baseurl;
    const char *suite = args->dist ? args->dist : codename(packages->run);

    if (!uri)
        return err_set(err, ERR_INVALID, "repository '%s' wants 'baseurl', 'ppa' or a 'deb' line",
                       args->name);
    if (!suite)
        return err_set(err, ERR_INVALID, "repository '%s' wants 'dist'", args->name);
    *line = (struct repo_line){
        .type = STR("deb"),
        .options = STR(""),
        .uri = str_from(uri),
        .suite = str_from(suite),
        .components = str_from(args->comps.n > 0 ? components(arena, args->comps)
                               : str_ends(str_from(suite), STR("/")) ? ""
                                                                     : "main"),
    };
    return 0;
}

static int resolve_apt(struct packages *packages, const struct repos_args *args, struct apt *ret,
                       struct err *err)
{
    const char *text = repos_is_line(args->baseurl) ? args->baseurl : args->name;
    struct arena *arena = packages->run->arena;

    if (repos_is_line(text) ? repo_line_parse(str_from(text), &ret->line, err) < 0
                            : compose_line(packages, args, &ret->line, err) < 0)
        return -1;
    ret->line.disabled |= !args->enabled || args->disabled;
    ret->own = !args->file && !repos_is_line(args->name);
    ret->id = repos_is_line(args->name) ? slug(arena, &ret->line) : args->name;
    ret->file = args->file ? args->file
                : repos_is_line(args->name)
                    ? REPOS_APT_LIST
                    : arena_printf(arena, "%s/%s.list", packages->manager->repo_place, ret->id);
    return 0;
}

/* The value of an option; a NULL view when it is not given. */
static struct str find_option(struct str options, struct str key)
{
    while (options.p) {
        struct str word = str_trim(str_cut(&options, ' '));

        if (str_starts(word, key) && word.n > key.n && word.p[key.n] == '=')
            return str_from_offset(word, key.n + 1);
    }
    return (struct str){ NULL, 0 };
}

static void add_option(struct arena *arena, struct repo_line *line, struct str key,
                       const char *value)
{
    if (!value || !value[0] || find_option(line->options, key).p)
        return;
    line->options = str_from(arena_printf(arena, "%.*s%s%.*s=%s", STR_ARG(line->options),
                                          line->options.n > 0 ? " " : "", STR_ARG(key), value));
}

static int read_key(struct packages *packages, const struct repos_args *args, struct str *ret,
                    struct err *err)
{
    *ret = args->key_text;
    if (ret->n > 0 || !args->key_url)
        return 0;
    if (state_source(packages->run, args->key_url, args->key_hash, ret, err) < 0)
        return err_wrap(err, "signing key of repository '%s'", args->name);
    return 0;
}

/* Where the key lies: what was said, also in a whole line, goes before our own place. */
static const char *key_path(struct packages *packages, const struct repos_args *args,
                            const struct apt *apt, struct str key)
{
    const struct str said = find_option(apt->line.options, STR("signed-by"));

    if (args->signedby)
        return args->signedby;
    if (said.n > 0 && said.p[0] == '/')
        return arena_str(packages->run->arena, said).p;
    return arena_printf(packages->run->arena, REPOS_APT_KEYRINGS "/zester-%s.%s", apt->id,
                        armor_is(key) ? "asc" : "gpg");
}

/* The key is compared whole, so that a new one is noticed. Sets the path that signs. */
static int add_key(struct packages *packages, const struct repos_args *args, const struct apt *apt,
                   struct repos_files *files, const char **ret_path, struct err *err)
{
    struct repos_file *file;
    struct str key;

    *ret_path = args->signedby;
    if (read_key(packages, args, &key, err) < 0)
        return -1;
    if (key.n == 0)
        return 0;
    *ret_path = key_path(packages, args, apt, key);
    if (str_ends(str_from(*ret_path), STR(".gpg")) && armor_is(key) &&
        armor_decode(packages->run->arena, key, &key, err) < 0)
        return err_wrap(err, "signing key of repository '%s'", args->name);
    if (repos_add_file(packages, files, *ret_path, &file, err) < 0)
        return -1;
    file->now = key;
    file->hidden = true;
    return 0;
}

static int managed_apt(struct packages *packages, const struct repos_args *args,
                       struct repos_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct arena *arena = packages->run->arena;
    const char *comment, *signs;
    struct repos_file *file;
    struct str old;
    struct apt apt;

    if (resolve_apt(packages, args, &apt, err) < 0 ||
        add_key(packages, args, &apt, files, &signs, err) < 0 ||
        repos_add_file(packages, files, apt.file, &file, err) < 0)
        return -1;
    add_option(arena, &apt.line, STR("arch"), join(arena, args->architectures, ","));
    add_option(arena, &apt.line, STR("signed-by"), signs);
    for (size_t i = 0; i < args->options.n; i++)
        add_option(arena, &apt.line, str_from(args->options.p[i].key), args->options.p[i].value);
    if (!args->gpgcheck)
        add_option(arena, &apt.line, STR("trusted"), "yes");
    comment =
        arena_printf(arena, "Managed by Zester: %s", args->humanname ? args->humanname : apt.id);
    old = apt.own || args->clean_file || !file->old.p ? STR("") : file->old;
    if ((repo_stanza_is_file(apt.file) ? repo_stanza_set : repo_line_set)(old, &apt.line, comment,
                                                                          &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, arena);
    return 0;
}

/* --- sections -----------------------------------------------------------------------------------
 */

static size_t fill_keys(const struct repos_args *args, struct repo_key *keys)
{
    const bool on = args->enabled && !args->disabled;
    const struct repo_key fixed[] = {
        { "name", args->humanname ? args->humanname : args->name },
        { "baseurl", args->baseurl },
        { "mirrorlist", args->mirrorlist },
        { "enabled", on ? "1" : "0" },
        { "gpgcheck", args->gpgcheck ? "1" : "0" },
        { "gpgkey", args->key_url },
    };
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        keys[count++] = fixed[i];
    for (size_t i = 0; i < args->options.n && count < KEYS_MAX; i++)
        keys[count++] = (struct repo_key){ args->options.p[i].key, args->options.p[i].value };
    return count;
}

static int managed_ini(struct packages *packages, const struct repos_args *args,
                       struct repos_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct arena *arena = packages->run->arena;
    struct repo_key keys[KEYS_MAX];
    struct repos_file *file;
    size_t count = fill_keys(args, keys);
    const char *path =
        args->file ? args->file
                   : arena_printf(arena, "%s/%s.repo", packages->manager->repo_place, args->name);

    if (!args->baseurl && !args->mirrorlist)
        return err_set(err, ERR_INVALID, "repository '%s' wants 'baseurl' or 'mirrorlist'",
                       args->name);
    if (repos_add_file(packages, files, path, &file, err) < 0 ||
        repo_section_set(args->clean_file || !file->old.p ? STR("") : file->old,
                         str_from(args->name), keys, count, "=", &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, arena);
    return 0;
}

static int managed_pacman(struct packages *packages, const struct repos_args *args,
                          struct repos_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    const char *path = args->file ? args->file : packages->manager->repo_place;
    const struct repo_key keys[] = {
        { "Server", args->baseurl },
        { "Include", args->mirrorlist },
        { "SigLevel", args->gpgcheck ? NULL : "Never" },
    };
    struct repos_file *file;
    bool was_there;

    if (repos_add_file(packages, files, path, &file, err) < 0)
        return -1;
    if (!args->enabled || args->disabled) /* pacman knows no repository that is switched off */
        repo_section_remove(file->old, str_from(args->name), &text, &was_there);
    else if (repo_section_set(file->old.p ? file->old : STR(""), str_from(args->name), keys,
                              ARRAY_LEN(keys), " = ", &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, packages->run->arena);
    return 0;
}

static int managed_apk(struct packages *packages, const struct repos_args *args,
                       struct repos_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    const char *path = args->file ? args->file : packages->manager->repo_place;
    struct repos_file *file;

    if (!args->baseurl)
        return err_set(err, ERR_INVALID, "repository '%s' wants 'baseurl'", args->name);
    if (repos_add_file(packages, files, path, &file, err) < 0 ||
        repo_line_set_plain(file->old.p ? file->old : STR(""), str_from(args->baseurl),
                            !args->enabled || args->disabled, &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, packages->run->arena);
    return 0;
}

/* What a kind of repository has no place for is refused, not forgotten. */
static int check_kind(const struct packages *packages, const struct repos_args *args,
                      struct err *err)
{
    const unsigned apt = 1U << PACKAGE_REPO_APT, ini = 1U << PACKAGE_REPO_INI;
    const unsigned apk = 1U << PACKAGE_REPO_APK, pacman = 1U << PACKAGE_REPO_PACMAN;
    const struct {
        const char *key;
        bool given;
        unsigned kinds;
    } rules[] = {
        { "a 'deb' line", repos_is_line(args->name) || repos_is_line(args->baseurl), apt },
        { "ppa", args->ppa != NULL, apt },
        { "dist", args->dist != NULL, apt },
        { "comps", args->comps.n > 0, apt },
        { "architectures", args->architectures.n > 0, apt },
        { "key_text", args->key_text.n > 0, apt },
        { "signedby", args->signedby != NULL, apt },
        { "key_url", args->key_url != NULL, apt | ini },
        { "options", args->options.n > 0, apt | ini },
        { "mirrorlist", args->mirrorlist != NULL, ini | pacman },
        { "humanname", args->humanname != NULL, apt | ini },
        { "gpgcheck: false", !args->gpgcheck, ~apk },
        { "clean_file", args->clean_file, apt | ini },
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].given && !(rules[i].kinds & 1U << packages->manager->repo_kind))
            return err_set(err, ERR_UNSUPPORTED, "repositories of %s have no '%s'",
                           packages->manager->name, rules[i].key);
    return 0;
}

int repos_resolve(struct packages *packages, const struct repos_args *args,
                  struct repos_files *ret_files, struct err *err)
{
    static repos_fn *const kinds[] = {
        [PACKAGE_REPO_APT] = managed_apt,
        [PACKAGE_REPO_INI] = managed_ini,
        [PACKAGE_REPO_APK] = managed_apk,
        [PACKAGE_REPO_PACMAN] = managed_pacman,
    };

    *ret_files = (struct repos_files){ 0 };
    if (check_kind(packages, args, err) < 0)
        return -1;
    return kinds[packages->manager->repo_kind](packages, args, ret_files, err);
}

/* --- doing it ------------------------------------------------------------------------ */

static bool is_same(const struct repos_file *file)
{
    return !file->old.p == !file->now.p && str_eq(file->old, file->now);
}

static void tell(struct state_run *run, const struct repos_files *files)
{
    VEC_EACH (&files->list, file) {
        if (is_same(file))
            continue;
        if (!file->now.p)
            state_differs(run, "repo file %s needs to go", file->path);
        else if (!file->old.p)
            state_differs(run, "repo file %s does not exist", file->path);
        else
            state_differs(run, "repo file %s content differs", file->path);
        if (!file->hidden)
            state_diff_content(run, file->path, file->old, file->now);
    }
}

static int put(struct state_run *run, const char *path, struct str text, struct err *err)
{
    const struct change_attr keep = CHANGE_KEEP;

    if (!text.p)
        return change_remove(run, path, err);
    if (parent_make(run, path, true, NULL, err) < 0)
        return -1;
    return change_write(run, path, text, &keep, err);
}

static int write_files(struct packages *packages, const struct repos_files *files, bool *ret_any,
                       struct err *err)
{
    *ret_any = false;
    VEC_EACH (&files->list, file) {
        if (is_same(file))
            continue;
        if (put(packages->run, file->path, file->now, err) < 0)
            return -1;
        *ret_any = true;
    }
    return 0;
}

/* One that cannot be read is not kept. Where the manager can, others are not asked: they may be out
 * of reach. */
static int try_out(struct packages *packages, const struct repos_files *files, struct err *err)
{
    const struct packages_index how = { .asked = true,
                                        .list = files->list.p[files->list.n - 1].path };
    struct err ignored;

    if (packages_index_refresh(packages, &how, err) == 0)
        return 0;
    VEC_EACH (&files->list, file)
        if (!is_same(file)) /* what went wrong first is told; the journal has these files */
            (void)put(packages->run, file->path, file->old, &ignored);
    return err_wrap(err, "the repository was not kept");
}

/* It is gone, also when others cannot be reached. */
static int forget(struct packages *packages, struct err *err)
{
    const struct packages_index how = { .asked = true };

    if (packages_index_refresh(packages, &how, err) == 0)
        return 0;
    if (err->code == ERR_CANCELED)
        return -1;
    state_say(packages->run, "%s", err->text);
    return 0;
}

int repos_check(struct state_run *run, const struct repos_wish *wish, repos_fn *find,
                struct err *err)
{
    struct repos_files files;
    struct packages packages;

    if (packages_open(run, &packages, err) < 0 || find(&packages, &wish->repo, &files, err) < 0)
        return -1;
    tell(run, &files);
    if (!run->differs)
        state_say(run, "repo %s is %s", wish->repo.name,
                  find == repos_resolve ? "as it should be" : "not there");
    return 0;
}

int repos_apply(struct state_run *run, const struct repos_wish *wish, repos_fn *find,
                const char *verb, struct err *err)
{
    struct repos_files files;
    struct packages packages;
    bool any;

    if (packages_open(run, &packages, err) < 0 || find(&packages, &wish->repo, &files, err) < 0 ||
        write_files(&packages, &files, &any, err) < 0)
        return -1;
    if (!any)
        state_unchanged(run);
    if (any && wish->refresh &&
        (find == repos_resolve ? try_out(&packages, &files, err) : forget(&packages, err)) < 0)
        return -1;
    state_say(run, "%s repo %s", verb, wish->repo.name);
    state_detail(run, "name", "%s", wish->repo.name);
    if (find == repos_resolve)
        state_detail(run, "file", "%s", files.list.p[files.list.n - 1].path);
    state_detail(run, "manager", "%s", packages.manager->name);
    return 0;
}
