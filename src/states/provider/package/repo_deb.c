#include "states/provider/package/repo_deb.h"

#include <ctype.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/armor.h"
#include "states/provider/package/repo_line.h"
#include "states/provider/package/repo_stanza.h"

#define MAIN_LIST "/etc/apt/sources.list"
#define KEYRINGS  "/etc/apt/keyrings"
#define PPA_HOST  "https://ppa.launchpadcontent.net"

static bool is_line_argument(const char *text)
{
    return text && repo_line_is(str_from(text));
}

/* --- the line --------------------------------------------------------------------------------- */

struct source {
    struct repo_line line;
    const char *id, *file;
    bool own; /* the file is named after the repository */
};

/* Letters and digits of a line, for names of files. */
static const char *make_slug(struct arena *arena, const struct repo_line *line)
{
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);
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

/* Words from a list, or from 'main,contrib'. */
static const char *join_words(struct arena *arena, struct param_strs words, const char *between)
{
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);

    for (size_t i = 0; i < words.n; i++) {
        struct str rest = str_from(words.p[i]);

        while (rest.p) {
            const struct str word = str_trim(str_cut(&rest, ','));

            if (word.n > 0)
                buf_printf(&text, "%s%.*s", text.n > 0 ? between : "", STR_ARG(word));
        }
    }
    return buf_copy(&text, arena).p;
}

static int compose_line(const struct package_repo_host *host, const struct package_repo *repo,
                        struct repo_line *line, struct err *err)
{
    const char *ppa = repo->ppa && strncmp(repo->ppa, "ppa:", 4) == 0 ? repo->ppa + 4 : repo->ppa;
    const char *uri =
        ppa ? arena_printf(host->arena, "%s/%s/ubuntu", PPA_HOST, ppa) : repo->baseurl;
    const char *suite = repo->dist ? repo->dist : host->codename;

    if (!uri)
        return package_repo_lacks(repo, "'baseurl', 'ppa' or a 'deb' line", err);
    if (!suite)
        return package_repo_lacks(repo, "'dist'", err);
    *line = (struct repo_line){
        .type = STR("deb"),
        .options = STR(""),
        .uri = str_from(uri),
        .suite = str_from(suite),
        .components = str_from(repo->comps.n > 0 ? join_words(host->arena, repo->comps, " ")
                               : str_ends(str_from(suite), STR("/")) ? ""
                                                                     : "main"),
    };
    return 0;
}

static int resolve_source(const struct package_repo_host *host, const struct package_repo *repo,
                          struct source *ret, struct err *err)
{
    const char *text = is_line_argument(repo->baseurl) ? repo->baseurl : repo->name;
    const bool named = !is_line_argument(repo->name);

    if (is_line_argument(text) ? repo_line_parse(str_from(text), &ret->line, err) < 0
                               : compose_line(host, repo, &ret->line, err) < 0)
        return -1;
    ret->line.disabled |= !package_repo_is_used(repo);
    ret->own = !repo->file && named;
    ret->id = named ? repo->name : make_slug(host->arena, &ret->line);
    ret->file = repo->file ? repo->file
                : named    ? arena_printf(host->arena, "%s/%s.list", host->place, ret->id)
                           : MAIN_LIST;
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

static void add_line_option(struct arena *arena, struct repo_line *line, struct str key,
                            const char *value)
{
    if (!value || !value[0] || find_option(line->options, key).p)
        return;
    line->options = str_from(arena_printf(arena, "%.*s%s%.*s=%s", STR_ARG(line->options),
                                          line->options.n > 0 ? " " : "", STR_ARG(key), value));
}

/* --- its key ---------------------------------------------------------------------------------- */

/* The path of the key: a given one, even in a whole line, takes precedence over our default. */
static const char *find_key_path(const struct package_repo_host *host,
                                 const struct package_repo *repo, const struct source *source,
                                 struct str key)
{
    const struct str said = find_option(source->line.options, STR("signed-by"));

    if (repo->signedby)
        return repo->signedby;
    if (said.n > 0 && said.p[0] == '/')
        return arena_str(host->arena, said).p;
    return arena_printf(host->arena, KEYRINGS "/zester-%s.%s", source->id,
                        armor_is(key) ? "asc" : "gpg");
}

/* The key is compared in full, so that a new one is noticed. Sets the path for signed-by. */
static int add_signing_key(const struct package_repo_host *host, const struct package_repo *repo,
                           const struct source *source, struct package_repo_files *files,
                           const char **ret_path, struct err *err)
{
    struct str key = repo->key_text;
    struct package_repo_file *file;

    *ret_path = repo->signedby;
    if (key.n == 0 && repo->key_url &&
        host->fetch(host->owner, repo->key_url, repo->key_hash, &key, err) < 0)
        return err_wrap(err, "signing key of repository '%s'", repo->name);
    if (key.n == 0)
        return 0;
    *ret_path = find_key_path(host, repo, source, key);
    if (str_ends(str_from(*ret_path), STR(".gpg")) && armor_is(key) &&
        armor_decode(host->arena, key, &key, err) < 0)
        return err_wrap(err, "signing key of repository '%s'", repo->name);
    if (package_repo_add_file(host, files, *ret_path, &file, err) < 0)
        return -1;
    file->now = key;
    file->hidden = true;
    return 0;
}

/* --- adding a repository ---------------------------------------------------------------------- */

static void add_line_options(const struct package_repo_host *host, const struct package_repo *repo,
                             const char *signs, struct repo_line *line)
{
    struct arena *arena = host->arena;

    add_line_option(arena, line, STR("arch"), join_words(arena, repo->architectures, ","));
    add_line_option(arena, line, STR("signed-by"), signs);
    for (size_t i = 0; i < repo->options.n; i++)
        add_line_option(arena, line, str_from(repo->options.p[i].key), repo->options.p[i].value);
    if (!repo->gpgcheck)
        add_line_option(arena, line, STR("trusted"), "yes");
}

int repo_deb_managed(const struct package_repo_host *host, const struct package_repo *repo,
                     struct package_repo_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);
    struct package_repo_file *file;
    const char *comment, *signs;
    struct source source;
    struct str old;

    if (resolve_source(host, repo, &source, err) < 0 ||
        add_signing_key(host, repo, &source, files, &signs, err) < 0 ||
        package_repo_add_file(host, files, source.file, &file, err) < 0)
        return -1;
    add_line_options(host, repo, signs, &source.line);
    comment = arena_printf(host->arena, "Managed by Zester: %s",
                           repo->humanname ? repo->humanname : source.id);
    old = source.own || repo->clean_file || !file->old.p ? STR("") : file->old;
    if ((repo_stanza_is_file(source.file) ? repo_stanza_set : repo_line_set)(
            old, &source.line, comment, &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, host->arena);
    return 0;
}

/* --- removing a repository -------------------------------------------------------------------- */

static void drop_matching(const char *path, struct str text, const struct repo_line *pattern,
                          struct buf *out, size_t *ret_count)
{
    (repo_stanza_is_file(path) ? repo_stanza_remove : repo_line_remove)(text, pattern, out,
                                                                        ret_count);
}

static int drop_deb_line(const struct package_repo *repo, const char *path, struct str text,
                         struct buf *out, size_t *ret_count, struct err *err)
{
    struct repo_line line;

    if (repo_line_parse(str_from(repo->name), &line, err) < 0)
        return -1;
    drop_matching(path, text, &line, out, ret_count);
    return 0;
}

/* Sources have no names in apt's files: select the only one of a file, or that of a URL. */
static int drop_only(const struct package_repo *repo, const char *path, struct str text,
                     struct buf *out, size_t *ret_count, struct err *err)
{
    struct repo_line pattern = {
        .uri = str_from(repo->baseurl ? repo->baseurl : ""),
        .suite = str_from(repo->dist ? repo->dist : ""),
    };

    if (is_line_argument(repo->baseurl) &&
        repo_line_parse(str_from(repo->baseurl), &pattern, err) < 0)
        return -1;
    drop_matching(path, text, &pattern, out, ret_count);
    if (*ret_count > 1 && !repo->baseurl)
        return err_set(
            err, ERR_INVALID,
            "'%s' has %zu sources: select one with 'baseurl', or use its 'deb' line as the name",
            path, *ret_count);
    return 0;
}

/* The file and the key that were created for this name. */
static int drop_own(const struct package_repo_host *host, const struct package_repo *repo,
                    struct package_repo_files *files, struct err *err)
{
    const char *const paths[] = {
        arena_printf(host->arena, KEYRINGS "/zester-%s.gpg", repo->name),
        arena_printf(host->arena, KEYRINGS "/zester-%s.asc", repo->name),
        arena_printf(host->arena, "%s/%s.list", host->place, repo->name),
        arena_printf(host->arena, "%s/%s.sources", host->place, repo->name),
    };
    const size_t keys = 2;

    for (size_t i = 0; i < (repo->file ? keys : ARRAY_LEN(paths)); i++) {
        struct package_repo_file *file;

        if (package_repo_add_file(host, files, paths[i], &file, err) < 0)
            return -1;
        file->now = (struct str){ NULL, 0 };
    }
    return repo->file ? package_repo_drop(host, repo, repo->file, drop_only, files, err) : 0;
}

int repo_deb_absent(const struct package_repo_host *host, const struct package_repo *repo,
                    struct package_repo_files *files, struct err *err)
{
    if (!is_line_argument(repo->name))
        return drop_own(host, repo, files, err);
    if (repo->file)
        return package_repo_drop(host, repo, repo->file, drop_deb_line, files, err);
    if (package_repo_drop(host, repo, MAIN_LIST, drop_deb_line, files, err) < 0 ||
        package_repo_drop_each(host, repo, STR(".list"), drop_deb_line, files, err) < 0)
        return -1;
    return package_repo_drop_each(host, repo, STR(".sources"), drop_deb_line, files, err);
}
