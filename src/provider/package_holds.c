#include "provider/package_holds.h"

#include <string.h>

#include "base/glob.h"
#include "provider/package_db.h"

static void hold(struct package_db *db, struct str name)
{
    VEC_EACH (&db->list, package)
        if (glob_match(name, str_from((*package)->name)))
            (*package)->held = true;
}

/* Without the last part that begins with a dash. */
static struct str cut_dash(struct str text)
{
    size_t n = text.n;

    while (n > 0 && text.p[n - 1] != '-')
        n--;
    return n > 0 ? str_slice(text, 0, n - 1) : text;
}

void package_holds_parse_versionlock(struct package_db *db, struct str text)
{
    while (text.p) {
        struct str line = str_trim(str_cut(&text, '\n'));
        size_t digits = strspn(line.n > 0 ? line.p : "", "0123456789");

        if (line.n == 0 || line.p[0] == '#' || line.p[0] == '!')
            continue;
        if (digits > 0 && digits < line.n && line.p[digits] == ':')
            line = str_from_offset(line, digits + 1);
        hold(db, cut_dash(cut_dash(line)));
    }
}

void package_holds_parse_toml(struct package_db *db, struct str text)
{
    while (text.p) {
        struct str rest = str_cut(&text, '\n'), key = str_trim(str_cut(&rest, '='));
        struct str name = rest.p ? str_trim(rest) : (struct str){ "", 0 };

        if (str_is(key, "name") && name.n > 2 && (name.p[0] == '"' || name.p[0] == '\''))
            hold(db, str_slice(name, 1, name.n - 2));
    }
}

void package_holds_parse_zypper(struct package_db *db, struct str text)
{
    while (text.p) {
        struct str rest = str_cut(&text, '\n'), key = str_trim(str_cut(&rest, ':'));

        if (rest.p && str_is(key, "solvable_name"))
            hold(db, str_trim(rest));
    }
}
