#include "test.h"

#include <signal.h>

#include "core/sys/signals.h"

TEST(signals_are_known_by_name_and_number)
{
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        { "SIGTERM", SIGTERM }, { "term", SIGTERM }, { "15", 15 }, { "Hup", SIGHUP },
        { "SIGIOT", SIGABRT },  { "0", 0 },          { "", 0 },    { "SIG", 0 },
        { "NONE", 0 },          { "99", 0 },         { "1x", 0 },  { "TERM2", 0 },
        { "-15", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(signal_parse(str_from(cases[i].text)), cases[i].want);
    CHECK_INT(signal_parse(STR("SIGRTMIN")), SIGRTMIN);
    CHECK_INT(signal_parse(STR("RTMIN+3")), SIGRTMIN + 3);
    CHECK_INT(signal_parse(STR("rtmax-1")), SIGRTMAX - 1);
    CHECK_INT(signal_parse(STR("RTMIN+99")), 0);
    CHECK_INT(signal_parse(STR("RTMIN-1")), 0);
}

TEST(every_name_leads_back_to_its_number)
{
    for (int i = 1; i < 32; i++) {
        CHECK(signal_name(i) != NULL);
        CHECK_INT(signal_parse(str_from(signal_name(i))), i);
    }
    CHECK(signal_name(0) == NULL);
    CHECK(signal_name(-1) == NULL);
    CHECK(signal_name(SIGRTMIN) == NULL);
}
