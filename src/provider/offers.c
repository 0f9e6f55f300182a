#include "provider/offers.h"

#include "base/arena.h"
#include "provider/package_manager.h"

static size_t indent_of(struct str line)
{
    return line.n - str_trim_left(line).n;
}

static struct str cut_word(struct str *rest)
{
    struct str word;

    *rest = str_trim_left(*rest);
    word = (struct str){ rest->p, 0 };
    while (word.n < rest->n && rest->p[word.n] != ' ' && rest->p[word.n] != '\t' &&
           rest->p[word.n] != '\n' && rest->p[word.n] != '\r')
        word.n++;
    *rest = str_from_offset(*rest, word.n);
    return word;
}

/* --- apt ------------------------------------------------------------------------------------ */

/*
 *     nginx:
 *       Installed: 1.0
 *       Candidate: 2.0
 *       Version table:
 *          2.0 500
 *             500 file:/repo ./ Packages
 *      *** 1.0 100
 *             100 /var/lib/dpkg/status
 */
static void read_policy_line(struct package_offer *offer, struct arena *arena, struct str line)
{
    struct str rest = str_trim(line), word;

    if (str_starts(rest, STR("Candidate:"))) {
        word = str_trim(str_from_offset(rest, sizeof("Candidate:") - 1));
        if (!str_is(word, "(none)"))
            offer->candidate = arena_str(arena, word).p;
    } else if (str_starts(line, STR(" *** ")) || indent_of(line) == 5) {
        word = cut_word(&rest);
        package_offer_add(offer, arena, str_is(word, "***") ? cut_word(&rest) : word);
    }
}

void offers_parse_apt(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = NULL;

    while (text.p) {
        struct str line = str_trim_right(str_cut(&text, '\n'));

        if (line.n == 0)
            continue;
        if (indent_of(line) == 0)
            offer = str_ends(line, STR(":"))
                        ? package_offers_find(offers, str_slice(line, 0, line.n - 1))
                        : NULL;
        else if (offer)
            read_policy_line(offer, arena, line);
    }
}

/* --- dnf, yum ------------------------------------------------------------------------------- */

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

void offers_parse_dnf(struct package_offers *offers, struct arena *arena, struct str text)
{
    size_t title = str_find(text, STR("vailable "), 0);
    struct str rest;

    /* What is before the title speaks of repositories. */
    rest = title == STR_NONE ? text : str_from_offset(text, title);
    if (title != STR_NONE)
        (void)str_cut(&rest, '\n');
    while (rest.p && str_trim(rest).n > 0) {
        struct str name = cut_word(&rest), version = cut_word(&rest);

        (void)cut_word(&rest);
        read_triple(offers, arena, name, version);
    }
}

/* --- zypper ---------------------------------------------------------------------------------- */

enum zypper_column { ZYPPER_STATUS, ZYPPER_NAME, ZYPPER_TYPE, ZYPPER_VERSION, ZYPPER_COLUMNS };

void offers_parse_zypper(struct package_offers *offers, struct arena *arena, struct str text)
{
    while (text.p) {
        struct str line = str_cut(&text, '\n');
        struct str columns[ZYPPER_COLUMNS] = { 0 };
        struct package_offer *offer;

        for (size_t i = 0; i < ZYPPER_COLUMNS && line.p; i++)
            columns[i] = str_trim(str_cut(&line, '|'));
        if (!columns[ZYPPER_VERSION].p || !str_is(columns[ZYPPER_TYPE], "package"))
            continue;
        offer = package_offers_find(offers, columns[ZYPPER_NAME]);
        if (offer)
            package_offer_add(offer, arena, columns[ZYPPER_VERSION]);
    }
}

/* --- apk -------------------------------------------------------- */

/*
 *     nginx policy:
 *       1.24.0-r7:
 *         lib/apk/db/installed
 *         https://dl-cdn.alpinelinux.org/alpine/v3.18/main
 */
void offers_parse_apk(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = NULL;

    while (text.p) {
        struct str line = str_trim_right(str_cut(&text, '\n'));
        size_t indent = indent_of(line);
        struct str rest = str_trim(line);

        if (indent == 0)
            offer = str_ends(line, STR(" policy:")) ? package_offers_find(offers, cut_word(&rest))
                                                    : NULL;
        else if (indent == 2 && offer && str_ends(rest, STR(":")))
            package_offer_add(offer, arena, str_slice(rest, 0, rest.n - 1));
    }
}

/* --- pacman ----------------------------------------------------- */

void offers_parse_pacman(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = NULL;

    while (text.p) {
        struct str rest = str_cut(&text, '\n'), key = str_trim(str_cut(&rest, ':'));

        if (!rest.p)
            continue;
        if (str_is(key, "Name"))
            offer = package_offers_find(offers, str_trim(rest));
        else if (str_is(key, "Version") && offer)
            package_offer_add(offer, arena, str_trim(rest));
    }
}
