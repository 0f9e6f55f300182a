#include "states/provider/package/dpkg.h"

#include <ctype.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/version.h"

/* --- the status file -------------------------------------------------------------------------- */

/* The relevant fields of a stanza. */
struct stanza {
    struct str package, status, version, arch, provides;
};

/* Field names are case-insensitive: "provides" matches "Provides". */
static bool is_field(struct str name, const char *word)
{
    return name.n == strlen(word) && strncasecmp(name.p, word, name.n) == 0;
}

static void read_stanza_field(struct stanza *stanza, struct str line)
{
    struct str rest = line, name = str_cut(&rest, ':');
    const struct {
        const char *name;
        struct str *field;
    } fields[] = {
        { "Package", &stanza->package },   { "Status", &stanza->status },
        { "Version", &stanza->version },   { "Architecture", &stanza->arch },
        { "Provides", &stanza->provides },
    };

    for (size_t i = 0; rest.p && i < ARRAY_LEN(fields); i++)
        if (is_field(name, fields[i].name))
            *fields[i].field = str_trim(rest);
}

static const struct {
    const char *word;
    enum package_state state;
} dpkg_states[] = {
    { "installed", PACKAGE_INSTALLED },        { "config-files", PACKAGE_CONFIG },
    { "half-installed", PACKAGE_BROKEN },      { "unpacked", PACKAGE_BROKEN },
    { "half-configured", PACKAGE_BROKEN },     { "triggers-awaited", PACKAGE_INSTALLED },
    { "triggers-pending", PACKAGE_INSTALLED }, { "not-installed", PACKAGE_ABSENT },
};

/* "hold ok installed": wanted state, errors, current state. */
static enum package_state parse_dpkg_status(struct str status, bool *held)
{
    struct str rest = status, wanted = str_cut(&rest, ' ');
    struct str word;

    *held = str_is(wanted, "hold");
    if (rest.p)
        (void)str_cut(&rest, ' ');
    word = rest.p ? str_trim(rest) : (struct str){ "", 0 };
    for (size_t i = 0; i < ARRAY_LEN(dpkg_states); i++)
        if (str_is(word, dpkg_states[i].word))
            return dpkg_states[i].state;
    return PACKAGE_ABSENT;
}

/* "mail-transport-agent, foo (= 1.0), bar:any" */
static void read_dpkg_provides(struct package_db *db, struct str provides, struct package *package)
{
    while (provides.p) {
        struct str rest = str_trim(str_cut(&provides, ','));
        struct str name = str_cut(&rest, ' ');

        rest = name;
        package_db_provide(db, str_cut(&rest, ':'), package);
    }
}

/* Records of the journal come before those of the status file that they replace. */
static bool is_already_listed(const struct package_db *db, const struct stanza *stanza)
{
    AUTO_BUF struct buf key = BUF_INIT(2 * PACKAGE_TEXT_MAX);

    buf_printf(&key, "%.*s:%.*s", STR_ARG(stanza->package), STR_ARG(stanza->arch));
    return package_db_find(db, buf_view(&key)) != NULL;
}

static int end_stanza(struct package_db *db, struct stanza *stanza, struct err *err)
{
    struct package *package;
    enum package_state state;
    bool held;

    if (stanza->package.n > 0 && !is_already_listed(db, stanza)) {
        state = parse_dpkg_status(stanza->status, &held);
        if (package_db_add(db, stanza->package, stanza->version, stanza->arch, state, &package,
                           err) < 0)
            return -1;
        package->held = held;
        if (state == PACKAGE_INSTALLED)
            read_dpkg_provides(db, stanza->provides, package);
    }
    *stanza = (struct stanza){ 0 };
    return 0;
}

/* dpkg is always in its own status file, and has the native architecture. */
static void find_native(struct package_db *db, struct str text)
{
    size_t at =
        str_starts(text, STR("Package: dpkg\n")) ? 0 : str_find(text, STR("\nPackage: dpkg\n"), 0);
    size_t end, arch;

    if (at == STR_NONE)
        return;
    end = str_find(text, STR("\n\n"), at);
    text = str_slice(text, at, end == STR_NONE ? text.n : end - at);
    arch = str_find(text, STR("\nArchitecture: "), 0);
    if (arch != STR_NONE)
        db->native = arena_str(&db->arena, str_trim(str_from_offset(str_line_at(text, arch + 1),
                                                                    sizeof("Architecture:") - 1)))
                         .p;
}

int dpkg_parse_status(struct package_db *db, struct str text, struct err *err)
{
    struct stanza stanza = { 0 };

    find_native(db, text);
    while (text.p) {
        struct str line = str_cut(&text, '\n');

        if (str_trim(line).n == 0) {
            if (end_stanza(db, &stanza, err) < 0)
                return -1;
        } else if (line.p[0] != ' ' && line.p[0] != '\t') {
            read_stanza_field(&stanza, line);
        }
    }
    return end_stanza(db, &stanza, err);
}

/* --- versions --------------------------------------------------------------------------------- */

static bool is_digit_at(struct str s, size_t at)
{
    return at < s.n && isdigit((unsigned char)s.p[at]);
}

/* A tilde sorts before the end, letters before everything else. A digit and the end are equal:
 * both end the non-numeric part. */
static int weigh_char(struct str s, size_t at)
{
    int c = at < s.n ? (unsigned char)s.p[at] : 0;

    if (c == 0 || isdigit(c))
        return 0;
    if (c == '~')
        return -1;
    return isalpha(c) ? c : c + 256;
}

/* Compare the numbers at both positions; of any length, ignoring leading zeros. */
static int compare_number(struct str a, size_t *i, struct str b, size_t *j)
{
    int first = 0;

    while (*i < a.n && a.p[*i] == '0')
        (*i)++;
    while (*j < b.n && b.p[*j] == '0')
        (*j)++;
    while (is_digit_at(a, *i) && is_digit_at(b, *j)) {
        if (first == 0)
            first = a.p[*i] - b.p[*j];
        (*i)++;
        (*j)++;
    }
    if (is_digit_at(a, *i))
        return 1;
    if (is_digit_at(b, *j))
        return -1;
    return first;
}

static int compare_dpkg_part(struct str a, struct str b)
{
    size_t i = 0, j = 0;

    while (i < a.n || j < b.n) {
        int order;

        while ((i < a.n && !is_digit_at(a, i)) || (j < b.n && !is_digit_at(b, j))) {
            order = weigh_char(a, i) - weigh_char(b, j);
            if (order != 0)
                return order;
            i++;
            j++;
        }
        order = compare_number(a, &i, b, &j);
        if (order != 0)
            return order;
    }
    return 0;
}

int dpkg_compare(struct str a, struct str b)
{
    return version_compare_parts(a, b, compare_dpkg_part, VERSION_MISSING_IS_EMPTY);
}
