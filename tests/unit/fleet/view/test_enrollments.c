#include "fleet/view/enrollments.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "test.h"

static void take_record(struct fleet_enrollments *all, const char *id, const char *peel,
                        enum enrollment_state state)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct enrollment record = { .id = id,
                                       .peel_id = peel,
                                       .public_key = "U",
                                       .curve_public_key = "X",
                                       .state = state,
                                       .hostname = "",
                                       .decided_by = "",
                                       .reject_reason = "",
                                       .remote_addr = "10.0.0.1",
                                       .trusted_ca_spki = "" };
    struct err err;

    CHECK(record_encode(&bytes, &enrollment_type, &record, &err) == 0);
    fleet_enrollments_take(all, str_from(id), buf_view(&bytes));
}

static const char *list_ids(struct fleet_enrollments *all, const char *state)
{
    const char *text = "";

    VEC_EACH (&all->records, record)
        if (fleet_enrollments_lists(all, record, state))
            text = arena_printf(all->arena, "%s%s ", text, record->id);
    return text;
}

TEST(records_that_were_replaced_are_listed_only_among_all)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_enrollments all = FLEET_ENROLLMENTS_INIT(&arena);

    take_record(&all, "enr-3", "web_example_com", ENROLLMENT_PENDING);
    take_record(&all, "enr-1", "web_example_com", ENROLLMENT_PENDING);
    take_record(&all, "enr-2", "db", ENROLLMENT_REVOKED);
    fleet_enrollments_take(&all, STR("peel.web_example_com"), STR("enr-3"));
    fleet_enrollments_take(&all, STR("enr-4"), STR("not a record"));
    fleet_enrollments_take(&all, STR("other"), STR("x"));
    fleet_enrollments_end(&all);
    CHECK_STR(list_ids(&all, "pending"), "enr-3 ");
    CHECK_STR(list_ids(&all, "revoked"), "enr-2 ");
    CHECK_STR(list_ids(&all, "all"), "enr-1 enr-2 enr-3 ");
    CHECK(fleet_enrollments_has_state("all") && fleet_enrollments_has_state("active"));
    CHECK(!fleet_enrollments_has_state("odd"));
}

TEST(a_row_has_the_name_as_people_write_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_enrollments all = FLEET_ENROLLMENTS_INIT(&arena);
    struct value v;

    take_record(&all, "enr-1", "web_example_com", ENROLLMENT_PENDING);
    v = fleet_enrollment_value(&arena, &all.records.p[0]);
    CHECK_STR(value_get_text(&v, "peel_id"), "web.example.com");
    CHECK_STR(value_get_text(&v, "source"), "10.0.0.1");
    CHECK_STR(value_get_text(&v, "state"), "pending");
    CHECK_STR(value_get_text(&v, "created"), "");
}
