/* apk, of Alpine. Versions are 1.2.3b_rc1_p2-r4. */
#include "states/provider/package/manager.h"

#include <ctype.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "states/provider/package/db.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/repo_line.h"

/* --- versions --------------------------------------------------------------------------------- */

/* In order; the empty one is a version without a suffix. */
static const char *const suffixes[] = { "alpha", "beta", "pre", "rc", "",
                                        "cvs",   "svn",  "git", "hg", "p" };
#define PLAIN 4

/* The parts of a version, in order. Later kinds are older, as "1.2" is older than "1.2.3"; a
 * suffix decides by itself. */
enum part_kind { PART_NUMBER, PART_LETTER, PART_SUFFIX, PART_REVISION, PART_END, PART_OTHER };

struct part {
    enum part_kind kind;
    struct str text;
    int suffix;
};

static struct str cut_digits(struct str *rest)
{
    size_t n = 0;
    struct str digits;

    while (n < rest->n && isdigit((unsigned char)rest->p[n]))
        n++;
    digits = str_slice(*rest, 0, n);
    *rest = str_from_offset(*rest, n);
    return digits;
}

static struct part cut_suffix(struct str *rest)
{
    struct part part = { .kind = PART_OTHER, .text = *rest };
    size_t n = 1;

    while (n < rest->n && isalpha((unsigned char)rest->p[n]))
        n++;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (n > 1 && str_is(str_slice(*rest, 1, n - 1), suffixes[i])) {
            part.kind = PART_SUFFIX;
            part.suffix = (int)i;
        }
    *rest = str_from_offset(*rest, part.kind == PART_SUFFIX ? n : rest->n);
    if (part.kind == PART_SUFFIX)
        part.text = cut_digits(rest);
    return part;
}

static struct part cut_version_part(struct str *rest, bool *first)
{
    struct part part = { .kind = PART_END, .suffix = PLAIN };
    const bool begins = *first;

    *first = false;
    if (rest->n == 0)
        return part;
    if (begins || (rest->p[0] == '.' && rest->n > 1 && isdigit((unsigned char)rest->p[1]))) {
        *rest = str_from_offset(*rest, begins ? 0 : 1);
        part.kind = PART_NUMBER;
        part.text = cut_digits(rest);
    } else if (islower((unsigned char)rest->p[0])) {
        part.kind = PART_LETTER;
        part.text = str_slice(*rest, 0, 1);
        *rest = str_from_offset(*rest, 1);
    } else if (rest->p[0] == '_') {
        return cut_suffix(rest);
    } else if (str_starts(*rest, STR("-r"))) {
        *rest = str_from_offset(*rest, 2);
        part.kind = PART_REVISION;
        part.text = cut_digits(rest);
    } else {
        part.kind = PART_OTHER;
        part.text = *rest;
        *rest = (struct str){ "", 0 };
    }
    return part;
}

/* A later part that begins with a zero is a fraction: 1.05 is older than 1.1. */
static int compare_like(const struct part *a, const struct part *b, bool first)
{
    bool fraction =
        a->kind == PART_NUMBER && !first &&
        ((a->text.n > 0 && a->text.p[0] == '0') || (b->text.n > 0 && b->text.p[0] == '0'));

    if (a->kind == PART_SUFFIX && a->suffix != b->suffix)
        return a->suffix - b->suffix;
    if (fraction || a->kind == PART_LETTER || a->kind == PART_OTHER)
        return str_compare(a->text, b->text);
    return version_compare_digits(a->text, b->text);
}

/* The two sides have parts of different kinds. */
static int compare_kinds(const struct part *a, const struct part *b)
{
    int x = a->kind == PART_SUFFIX ? a->suffix : PLAIN;
    int y = b->kind == PART_SUFFIX ? b->suffix : PLAIN;

    if (x < PLAIN || y < PLAIN)
        return x - y;
    return a->kind < b->kind ? 1 : -1;
}

static int compare_apk_versions(struct str a, struct str b)
{
    bool first = true;

    a = str_trim(a);
    b = str_trim(b);
    for (;;) {
        bool begins = first, other = first;
        const struct part x = cut_version_part(&a, &first), y = cut_version_part(&b, &other);
        int order;

        if (x.kind != y.kind)
            return compare_kinds(&x, &y);
        if (x.kind == PART_END)
            return 0;
        order = compare_like(&x, &y, begins);
        if (order != 0)
            return order;
    }
}

/* --- installed and available packages --------------------------------------------------------- */

/* The relevant fields of a record. */
struct record {
    struct str package, version, arch, provides;
};

/* "so:libc.musl-x86_64.so.1=1 cmd:sh=1.0 mta": virtual names are those without a kind. */
static void read_apk_provides(struct package_db *db, struct str provides, struct package *package)
{
    while (provides.p) {
        struct str word = str_cut(&provides, ' ');
        struct str name = str_cut(&word, '=');

        if (str_find_char(name, ':', 0) == STR_NONE)
            package_db_provide(db, name, package);
    }
}

static int end_record(struct package_db *db, struct record *record, struct err *err)
{
    struct package *package;

    if (record->package.n > 0) {
        if (package_db_add(db, record->package, record->version, record->arch, PACKAGE_INSTALLED,
                           &package, err) < 0)
            return -1;
        read_apk_provides(db, record->provides, package);
    }
    *record = (struct record){ 0 };
    return 0;
}

static int parse_apk_database(struct package_db *db, struct str text, struct err *err)
{
    struct record record = { 0 };
    struct str *const fields[] = { ['P'] = &record.package,
                                   ['V'] = &record.version,
                                   ['A'] = &record.arch,
                                   ['p'] = &record.provides };

    while (text.p) {
        struct str line = str_cut(&text, '\n');
        size_t letter = line.n > 1 && line.p[1] == ':' ? (unsigned char)line.p[0] : 0;

        if (line.n == 0) {
            if (end_record(db, &record, err) < 0)
                return -1;
        } else if (letter < ARRAY_LEN(fields) && fields[letter]) {
            *fields[letter] = str_trim(str_from_offset(line, 2));
        }
    }
    return end_record(db, &record, err);
}

/*
 *     nginx policy:
 *       1.24.0-r7:
 *         lib/apk/db/installed
 *         https://dl-cdn.alpinelinux.org/alpine/v3.18/main
 */
static void parse_apk_offers(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = NULL;

    while (text.p) {
        struct str line = str_trim_right(str_cut(&text, '\n'));
        size_t indent = package_offers_indent(line);
        struct str rest = str_trim(line);

        if (indent == 0)
            offer = str_ends(line, STR(" policy:"))
                        ? package_offers_find(offers, package_offers_word(&rest))
                        : NULL;
        else if (indent == 2 && offer && str_ends(rest, STR(":")))
            package_offer_add(offer, arena, str_slice(rest, 0, rest.n - 1));
    }
}

/* --- repositories: lines in one file ---------------------------------------------------------- */

static int write_apk_repo(const struct package_repo_host *host, const struct package_repo *repo,
                          struct package_repo_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);
    struct package_repo_file *file;

    if (!repo->baseurl)
        return package_repo_lacks(repo, "'baseurl'", err);
    if (package_repo_add_file(host, files, repo->file ? repo->file : host->place, &file, err) < 0 ||
        repo_line_set_plain(file->old.p ? file->old : STR(""), str_from(repo->baseurl),
                            !package_repo_is_used(repo), &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, host->arena);
    return 0;
}

static int drop_apk_repo_line(const struct package_repo *repo, const char *path, struct str text,
                              struct buf *out, size_t *ret_count, struct err *err)
{
    (void)path;
    (void)err;
    repo_line_remove_plain(text, str_from(repo->baseurl ? repo->baseurl : repo->name), out,
                           ret_count);
    return 0;
}

static int remove_apk_repo(const struct package_repo_host *host, const struct package_repo *repo,
                           struct package_repo_files *files, struct err *err)
{
    return package_repo_drop(host, repo, repo->file ? repo->file : host->place, drop_apk_repo_line,
                             files, err);
}

/* --- the manager ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct package_programs programs[] = {
    { "cronie", "crontab" },
    { "git", "git" },
    { "openssh-client-default", "ssh-keyscan" },
    { "py3-pip", "pip3" },
    { "shadow", "chage chpasswd gpasswd groupadd useradd usermod" },
    { "util-linux", "mount swapoff swapon umount" },
    { 0 },
};

const struct package_manager package_manager_apk = {
    .name = "apk",
    .rank = 50,
    .families = "alpine",
    .programs = TOOL("apk"),
    .program_packages = programs,
    .compare = compare_apk_versions,
    .installed_files = TOOL("/lib/apk/db/installed", "/usr/lib/apk/db/installed"),
    .parse_installed = parse_apk_database,
    .offers_command = TOOL("apk", "policy"),
    .parse_offers = parse_apk_offers,
    .index = TOOL("/var/cache/apk", "/etc/apk/cache"),
    .actions = {
        [PACKAGE_INSTALL]   = TOOL("apk", "add", "--upgrade"),
        [PACKAGE_REMOVE]    = TOOL("apk", "del"),
        [PACKAGE_PURGE]     = TOOL("apk", "del", "--purge"),
        [PACKAGE_REFRESH]   = TOOL("apk", "update"),
    },
    .pin = '=',
    .fromrepo = "--repository=",
    .skip_verify = "--allow-untrusted",
    .repos = { "/etc/apk/repositories", 0, write_apk_repo, remove_apk_repo },
};
/* clang-format on */
