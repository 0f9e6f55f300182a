#include "fleet/view/issuers.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/view/enrollments.h"
#include "test.h"

#define NOW INT64_C(1000)

static const struct {
    const char *id, *peel, *issuer;
    enum enrollment_state state;
    int64_t expires;
    bool is_current;
} rows[] = {
    { "enr-1", "web-01", "K2", ENROLLMENT_ACTIVE, NOW + 1, true },
    { "enr-2", "web-02", "K1", ENROLLMENT_ISSUED, NOW + 1, true },
    { "enr-3", "web-03", "", ENROLLMENT_ACTIVE, NOW + 1, true },
    { "enr-4", "web-04", "K0", ENROLLMENT_ACTIVE, NOW + 1, true },
    { "enr-5", "old", "K1", ENROLLMENT_ACTIVE, NOW, true },
    { "enr-6", "web-01", "K1", ENROLLMENT_ACTIVE, NOW + 1, false },
    { "enr-7", "gone", "K1", ENROLLMENT_REVOKED, NOW + 1, true },
    { "enr-8", "on_its_way", "K1", ENROLLMENT_APPROVED, NOW + 1, true },
    { "enr-9", "new", "", ENROLLMENT_APPROVED, 0, true },
};

static void take_rows(struct fleet_enrollments *all)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
        const struct enrollment record = { .id = rows[i].id,
                                           .peel_id = rows[i].peel,
                                           .public_key = "U",
                                           .curve_public_key = "X",
                                           .state = rows[i].state,
                                           .hostname = "",
                                           .decided_by = "",
                                           .reject_reason = "",
                                           .remote_addr = "",
                                           .trusted_ca_spki = "",
                                           .expires_at = { rows[i].expires, 0 },
                                           .issuer = rows[i].issuer };
        struct err err;

        CHECK(record_encode(&bytes, &enrollment_type, &record, &err) == 0);
        fleet_enrollments_take(all, str_from(rows[i].id), buf_view(&bytes));
        if (rows[i].is_current)
            fleet_enrollments_take(all, str_from(arena_printf(all->arena, "peel.%s", rows[i].peel)),
                                   str_from(rows[i].id));
    }
}

static const char *list_names(struct arena *arena, const struct issuer_peels *peels)
{
    const char *text = "";

    VEC_EACH (&peels->list, name)
        text = arena_printf(arena, "%s%s ", text, *name);
    return text;
}

TEST(peels_are_sorted_by_the_key_of_credentials_that_still_count)
{
    static const char *const keys[] = { "K2", "K1" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_enrollments all = FLEET_ENROLLMENTS_INIT(&arena);
    struct fleet_issuers issuers;

    take_rows(&all);
    fleet_enrollments_take(&all, STR("peel.broken"), STR("enr-unreadable"));
    fleet_enrollments_end(&all);
    fleet_issuers_sort(&all, &(struct fleet_issuer_keys){ { ARRAY_LEN(keys), keys }, NULL }, NOW,
                       &issuers);
    CHECK_STR(list_names(&arena, &issuers.current), "web-01 ");
    CHECK_STR(list_names(&arena, &issuers.older), "web-02 on.its.way ");
    CHECK_STR(list_names(&arena, &issuers.account), "web-03 ");
    CHECK_STR(list_names(&arena, &issuers.gone), "web-04 ");
    CHECK_INT(issuers.unreadable, 1);
}
