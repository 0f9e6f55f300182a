/* Any bytes as what package managers keep or print; what is found is found again by its name, and
 * versions have one order. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "provider/offers.h"
#include "provider/package_db.h"
#include "provider/package_holds.h"
#include "provider/package_manager.h"
#include "provider/wish.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

typedef int (*reader_fn)(struct package_db *db, struct str text, struct err *err);

static const reader_fn readers[] = { package_db_parse_dpkg, package_db_parse_rpm,
                                     package_db_parse_apk, package_db_parse_pacman };

static void check_db(const struct package_db *db)
{
    VEC_EACH (&db->list, item) {
        const struct package *package = *item;

        if (!package->name[0] || strlen(package->name) > PACKAGE_TEXT_MAX)
            abort();
        if (!package->arch[0] && !package_db_find(db, str_from(package->name)))
            abort();
    }
}

static void read_db(reader_fn reader, struct str text)
{
    struct package_db *db = package_db_new();
    struct err err;

    if (reader(db, text, &err) == 0) {
        package_holds_parse_versionlock(db, text);
        package_holds_parse_zypper(db, text);
        package_holds_parse_toml(db, text);
    }
    check_db(db);
    package_db_free(db);
}

static void read_offers(struct str text)
{
    static void (*const parsers[])(struct package_offers *, struct arena *, struct str) = {
        offers_parse_apt, offers_parse_dnf,    offers_parse_zypper,
        offers_parse_apk, offers_parse_pacman,
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct package_offer offer = { .name = "nginx" };
    struct package_offers offers = { .by_name = MAP_INIT_IN(&arena) };

    map_set(&offers.by_name, STR("nginx"), &offer);
    for (size_t i = 0; i < ARRAY_LEN(parsers); i++)
        parsers[i](&offers, &arena, text);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void compare(struct str text)
{
    static const version_compare_fn all[] = { version_compare_deb, version_compare_rpm,
                                              version_compare_pacman, version_compare_apk };
    struct str rest = text, a = str_cut(&rest, '\n'), b = rest.p ? rest : STR("");
    struct wish wish;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i](a, a) != 0 || sign(all[i](a, b)) != -sign(all[i](b, a)))
            abort();
        if (wish_parse(a, &wish, &err) == 0)
            (void)wish_holds(&wish, b, all[i]);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str text = arena_str(&arena, str_bytes(data, size));

    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        read_db(readers[i], text);
    read_offers(text);
    compare(text);
    return 0;
}
