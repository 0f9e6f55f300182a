#include "core/base/vec.h"

#include "core/base/arena.h"
#include "test.h"

struct point {
    int x, y;
};

TEST(a_vector_on_the_heap_grows_and_is_walked_in_order)
{
    VEC(struct point) points = VEC_INIT;
    int n = 0;

    for (int i = 0; i < 1000; i++)
        VEC_PUSH(&points, (struct point){ i, -i });
    CHECK_INT(points.n, 1000);
    VEC_EACH (&points, point) {
        CHECK_INT(point->x, n);
        CHECK_INT(point->y, -n);
        n++;
    }
    CHECK_INT(n, 1000);
    vec_clear(&points);
    CHECK_INT(points.n, 0);
    CHECK(points.cap >= 1000);
    vec_done(&points);
    CHECK(points.p == NULL && points.cap == 0);
}

TEST(a_vector_in_an_arena_goes_with_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    VEC(const char *) names = VEC_INIT, others = VEC_INIT;

    for (int i = 0; i < 500; i++) {
        VEC_PUSH_IN(&arena, &names, arena_printf(&arena, "n%d", i));
        VEC_PUSH_IN(&arena, &others, "other");
    }
    CHECK_STR(names.p[0], "n0");
    CHECK_STR(names.p[499], "n499");
    CHECK_STR(others.p[499], "other");
}

TEST(a_vector_with_room_does_not_move_until_it_is_full)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    VEC(struct point) points = VEC_INIT;
    const struct point *first;

    VEC_RESERVE_IN(&arena, &points, 100);
    first = points.p;
    for (int i = 0; i < 100; i++)
        VEC_PUSH_IN(&arena, &points, (struct point){ i, i });
    CHECK(points.p == first);
    VEC_PUSH_IN(&arena, &points, (struct point){ 100, 100 });
    CHECK_INT(points.p[0].x, 0);
    CHECK_INT(points.p[100].x, 100);
}

TEST(an_empty_vector_is_walked_zero_times)
{
    VEC(int) none = VEC_INIT;

    VEC_EACH (&none, item)
        CHECK_INT(*item, -1);
    CHECK_INT(none.n, 0);
    vec_done(&none);
}
