/* Any bytes as what package managers keep or print; what is found is found again by its name, and
 * versions have one order. */
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/manager.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/wish.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

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

static void read_db(const struct package_manager *manager, struct str text)
{
    struct package_db *db = package_db_new();
    struct err err;

    if (manager->parse_installed(db, text, &err) == 0)
        for (const struct package_holds *holds = manager->holds; holds && holds->path; holds++)
            holds->parse(db, text);
    check_db(db);
    package_db_free(db);
}

static void read_offers(const struct package_manager *manager, struct str text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct package_offer offer = { .name = "nginx" };
    struct package_offers offers = { .by_name = MAP_INIT_IN(&arena) };

    map_set(&offers.by_name, STR("nginx"), &offer);
    manager->parse_offers(&offers, &arena, text);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void compare(version_compare_fn order, struct str text)
{
    struct str rest = text, a = str_cut(&rest, '\n'), b = rest.p ? rest : STR("");
    struct wish wish;
    struct err err;

    if (order(a, a) != 0 || sign(order(a, b)) != -sign(order(b, a)))
        abort();
    if (wish_parse(a, &wish, &err) == 0)
        (void)wish_holds(&wish, b, order);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str text = arena_str(&arena, str_bytes(data, size));

    for (const struct package_manager *const *m = package_manager_table; *m; m++) {
        read_db(*m, text);
        read_offers(*m, text);
        compare((*m)->compare, text);
    }
    return 0;
}
