/* What package managers keep about packages, read into a package_db. */
#include "provider/package_db.h"

#include <string.h>

#include "base/err.h"

/* --- dpkg --------------------------------------------------------------------------------- */

/* The fields of a paragraph that matter here. */
struct stanza {
    struct str package, status, version, arch, provides;
};

/* "provides" for "Provides": names of fields have no case. */
static bool is_field(struct str name, const char *word)
{
    return name.n == strlen(word) && strncasecmp(name.p, word, name.n) == 0;
}

static void read_field(struct stanza *stanza, struct str line)
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

/* "hold ok installed": what is wanted, errors, what is. */
static enum package_state read_status(struct str status, bool *held)
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
static void read_provides(struct package_db *db, struct str provides, struct package *package)
{
    while (provides.p) {
        struct str rest = str_trim(str_cut(&provides, ','));
        struct str name = str_cut(&rest, ' ');

        rest = name;
        package_db_provide(db, str_cut(&rest, ':'), package);
    }
}

static int end_stanza(struct package_db *db, struct stanza *stanza, struct err *err)
{
    struct package *package;
    enum package_state state;
    bool held;

    if (stanza->package.n > 0) {
        state = read_status(stanza->status, &held);
        if (package_db_add(db, stanza->package, stanza->version, stanza->arch, state, &package,
                           err) < 0)
            return -1;
        package->held = held;
        if (state == PACKAGE_INSTALLED)
            read_provides(db, stanza->provides, package);
    }
    *stanza = (struct stanza){ 0 };
    return 0;
}

/* dpkg is installed wherever its status file is, and knows what the machine is. */
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

int package_db_parse_dpkg(struct package_db *db, struct str text, struct err *err)
{
    struct stanza stanza = { 0 };

    find_native(db, text);
    while (text.p) {
        struct str line = str_cut(&text, '\n');

        if (str_trim(line).n == 0) {
            if (end_stanza(db, &stanza, err) < 0)
                return -1;
        } else if (line.p[0] != ' ' && line.p[0] != '\t') {
            read_field(&stanza, line);
        }
    }
    return end_stanza(db, &stanza, err);
}

/* --- rpm ---------------------------------------------------------------------------------- */

int package_db_parse_rpm(struct package_db *db, struct str text, struct err *err)
{
    while (text.p) {
        struct str rest = str_trim(str_cut(&text, '\n')), name = str_cut(&rest, '\t'), version;
        struct package *package;

        /* Keys that were imported are kept as packages; they are none. */
        if (!rest.p || name.n == 0 || str_is(name, "gpg-pubkey"))
            continue;
        version = str_cut(&rest, '\t');
        if (package_db_add(db, name, version, rest.p ? rest : STR(""), PACKAGE_INSTALLED, &package,
                           err) < 0)
            return -1;
    }
    return 0;
}

/* --- apk ---------------------------------------------------------------------------------- */

/* "so:libc.musl-x86_64.so.1=1 cmd:sh=1.0 mta": virtual names are those without a kind. */
static void provide_apk(struct package_db *db, struct str provides, struct package *package)
{
    while (provides.p) {
        struct str word = str_cut(&provides, ' ');
        struct str name = str_cut(&word, '=');

        if (str_find_char(name, ':', 0) == STR_NONE)
            package_db_provide(db, name, package);
    }
}

static int end_apk(struct package_db *db, struct stanza *stanza, struct err *err)
{
    struct package *package;

    if (stanza->package.n > 0) {
        if (package_db_add(db, stanza->package, stanza->version, stanza->arch, PACKAGE_INSTALLED,
                           &package, err) < 0)
            return -1;
        provide_apk(db, stanza->provides, package);
    }
    *stanza = (struct stanza){ 0 };
    return 0;
}

int package_db_parse_apk(struct package_db *db, struct str text, struct err *err)
{
    struct stanza stanza = { 0 };
    struct str *const fields[] = { ['P'] = &stanza.package,
                                   ['V'] = &stanza.version,
                                   ['A'] = &stanza.arch,
                                   ['p'] = &stanza.provides };

    while (text.p) {
        struct str line = str_cut(&text, '\n');
        size_t letter = line.n > 1 && line.p[1] == ':' ? (unsigned char)line.p[0] : 0;

        if (line.n == 0) {
            if (end_apk(db, &stanza, err) < 0)
                return -1;
        } else if (letter < ARRAY_LEN(fields) && fields[letter]) {
            *fields[letter] = str_trim(str_from_offset(line, 2));
        }
    }
    return end_apk(db, &stanza, err);
}

/* --- pacman ------------------------------------------------------------------------------- */

static size_t find_last_dash(struct str text)
{
    for (size_t i = text.n; i > 0; i--)
        if (text.p[i - 1] == '-')
            return i - 1;
    return STR_NONE;
}

int package_db_parse_pacman(struct package_db *db, struct str folder, struct err *err)
{
    size_t release = find_last_dash(folder);
    size_t version = release == STR_NONE ? STR_NONE : find_last_dash(str_slice(folder, 0, release));
    struct package *package;

    if (version == STR_NONE || version == 0) /* ALPM_DB_VERSION and the like */
        return 0;
    return package_db_add(db, str_slice(folder, 0, version), str_from_offset(folder, version + 1),
                          STR(""), PACKAGE_INSTALLED, &package, err);
}
