#include "core/base/lru.h"

#include "test.h"

struct thing {
    struct lru_item item;
    int number;
};

static int number_of(struct lru *lru, const char *key)
{
    struct thing *thing = lru_find(lru, str_from(key));

    return thing ? thing->number : -1;
}

TEST(the_one_that_was_not_used_for_longest_makes_room)
{
    struct lru lru;

    lru_init(&lru, 2, sizeof(struct thing));
    ((struct thing *)lru_get(&lru, STR("a")))->number = 1;
    ((struct thing *)lru_get(&lru, STR("b")))->number = 2;
    CHECK_INT(number_of(&lru, "a"), 1); /* used: now "b" is the oldest */
    CHECK_INT(((struct thing *)lru_get(&lru, STR("c")))->number, 0);
    CHECK_INT(number_of(&lru, "b"), -1);
    CHECK_INT(number_of(&lru, "a"), 1);
    CHECK_INT(lru_count(&lru), 2);
    lru_done(&lru);
}

TEST(a_name_is_copied_and_removed_items_are_gone)
{
    char key[] = "key";
    struct lru lru;

    lru_init(&lru, 8, sizeof(struct thing));
    ((struct thing *)lru_get(&lru, str_from(key)))->number = 7;
    key[0] = 'x';
    CHECK_INT(number_of(&lru, "key"), 7);
    lru_remove(&lru, lru_find(&lru, STR("key")));
    CHECK_INT(number_of(&lru, "key"), -1);
    CHECK_INT(lru_count(&lru), 0);
    CHECK(lru_get(&lru, STR("")) != NULL); /* the empty name is a name */
    lru_done(&lru);
}
