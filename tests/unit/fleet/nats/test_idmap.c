#include "fleet/nats/idmap.h"

#include "test.h"

#define COUNT 5000

TEST(ids_are_found_until_they_are_removed_in_any_order)
{
    static char values[COUNT + 1];
    struct idmap map = { 0 };

    CHECK(!idmap_find(&map, 1));
    for (uint64_t id = 1; id <= COUNT; id++)
        idmap_add(&map, id * 7, &values[id]); /* places of many meet */
    for (uint64_t id = 1; id <= COUNT; id += 2)
        CHECK(idmap_remove(&map, id * 7) == &values[id]);
    for (uint64_t id = 1; id <= COUNT; id++)
        CHECK(idmap_find(&map, id * 7) == (id % 2 ? NULL : &values[id]));
    CHECK_INT(map.count, COUNT / 2);
    for (uint64_t id = COUNT; id > 0; id--)
        (void)idmap_remove(&map, id * 7);
    CHECK_INT(map.count, 0);
    CHECK(map.cap <= 8); /* an idle connection keeps nothing */
    CHECK(!idmap_remove(&map, 7));
    CHECK(!idmap_find(&map, 0));
    idmap_done(&map);
}
