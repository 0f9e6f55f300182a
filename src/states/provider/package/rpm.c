#include "states/provider/package/rpm.h"

#include <ctype.h>
#include <string.h>

#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/version.h"

/* --- lists ------------------------------------------------------------------------------------ */

int rpm_parse_list(struct package_db *db, struct str text, struct err *err)
{
    while (text.p) {
        struct str rest = str_trim(str_cut(&text, '\n')), name = str_cut(&rest, '\t'), version;
        struct package *package;

        /* Imported keys are stored as pseudo-packages; skip them. */
        if (!rest.p || name.n == 0 || str_is(name, "gpg-pubkey"))
            continue;
        version = str_cut(&rest, '\t');
        if (package_db_add(db, name, version, rest.p ? rest : STR(""), PACKAGE_INSTALLED, &package,
                           err) < 0)
            return -1;
    }
    return 0;
}

/* Without the last part, which begins with a dash. */
static struct str cut_dash(struct str text)
{
    size_t n = text.n;

    while (n > 0 && text.p[n - 1] != '-')
        n--;
    return n > 0 ? str_slice(text, 0, n - 1) : text;
}

void rpm_parse_versionlock(struct package_db *db, struct str text)
{
    while (text.p) {
        struct str line = str_trim(str_cut(&text, '\n'));
        size_t digits = strspn(line.n > 0 ? line.p : "", "0123456789");

        if (line.n == 0 || line.p[0] == '#' || line.p[0] == '!')
            continue;
        if (digits > 0 && digits < line.n && line.p[digits] == ':')
            line = str_from_offset(line, digits + 1);
        package_db_hold(db, cut_dash(cut_dash(line)));
    }
}

static void read_triple(struct package_offers *offers, struct arena *arena, struct str name,
                        struct str version)
{
    struct package_offer *offer = package_offers_find(offers, name);
    size_t dot = name.n;

    while (!offer && dot > 0 && name.p[dot - 1] != '.')
        dot--;
    if (!offer && dot > 0)
        offer = package_offers_find(offers, str_slice(name, 0, dot - 1));
    if (offer)
        package_offer_add(offer, arena, version);
}

void rpm_parse_offers(struct package_offers *offers, struct arena *arena, struct str text)
{
    size_t title = str_find(text, STR("vailable "), 0);
    struct str rest;

    /* Lines before the title are about repositories. */
    rest = title == STR_NONE ? text : str_from_offset(text, title);
    if (title != STR_NONE)
        (void)str_cut(&rest, '\n');
    while (rest.p && str_trim(rest).n > 0) {
        struct str name = package_offers_word(&rest), version = package_offers_word(&rest);

        (void)package_offers_word(&rest);
        read_triple(offers, arena, name, version);
    }
}

/* --- versions --------------------------------------------------------------------------------- */

static bool begins_with_char(struct str s, char c)
{
    return s.n > 0 && s.p[0] == c;
}

static void skip_separators(struct str *s)
{
    while (s->n > 0 && !isalnum((unsigned char)s->p[0]) && s->p[0] != '~' && s->p[0] != '^')
        *s = str_from_offset(*s, 1);
}

/* '~' is older than the end, '^' newer than the end and older than anything else. True: decided. */
static bool compare_marks(struct str *a, struct str *b, int *ret)
{
    if (begins_with_char(*a, '~') || begins_with_char(*b, '~')) {
        *ret = begins_with_char(*a, '~') && begins_with_char(*b, '~') ? 0
               : begins_with_char(*a, '~')                            ? -1
                                                                      : 1;
    } else if (begins_with_char(*a, '^') || begins_with_char(*b, '^')) {
        if (a->n == 0 || b->n == 0)
            *ret = a->n == 0 ? -1 : 1;
        else
            *ret = begins_with_char(*a, '^') && begins_with_char(*b, '^') ? 0
                   : begins_with_char(*a, '^')                            ? -1
                                                                          : 1;
    } else {
        return false;
    }
    if (*ret != 0)
        return true;
    *a = str_from_offset(*a, 1);
    *b = str_from_offset(*b, 1);
    return true;
}

static int compare_rpm_part(struct str a, struct str b)
{
    while (a.n > 0 || b.n > 0) {
        int order = 0;

        skip_separators(&a);
        skip_separators(&b);
        if (!compare_marks(&a, &b, &order)) {
            if (a.n == 0 || b.n == 0)
                break;
            order = version_compare_segment(&a, &b);
        }
        if (order != 0)
            return order;
    }
    return a.n > 0 ? 1 : b.n > 0 ? -1 : 0;
}

int rpm_compare(struct str a, struct str b)
{
    return version_compare_parts(a, b, compare_rpm_part, VERSION_MISSING_IS_ANY);
}
