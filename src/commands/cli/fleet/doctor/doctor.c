#include "commands/cli/fleet/doctor/doctor.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "core/data/value.h"
#include "core/sys/clock.h"

void doctor_add(struct doctor *doctor, struct doctor_finding finding)
{
    VEC_PUSH_IN(doctor->arena, &doctor->findings, finding);
}

void doctor_add_ok(struct doctor *doctor, const char *check, const char *text)
{
    doctor_add(doctor, (struct doctor_finding){ check, DOCTOR_OK, text, NULL });
}

static bool ends_soon(const struct doctor_term *term, int64_t left)
{
    int64_t share = (term->ends - term->begins - DOCTOR_EARLY) / DOCTOR_SOON_SHARE;

    return left < (term->begins > 0 && share < DOCTOR_SOON ? share : DOCTOR_SOON);
}

static const char *describe_left(struct arena *arena, int64_t left)
{
    const bool in_days = left >= 2 * DOCTOR_DAY;

    return arena_printf(arena, "%lld %s", (long long)(in_days ? left / DOCTOR_DAY : left / 3600),
                        in_days ? "days" : "hours");
}

void doctor_add_term(struct doctor *doctor, const struct doctor_term *term)
{
    const int64_t now = clock_wall() / CLOCK_SECOND, left = term->ends - now;
    struct doctor_finding finding = { .check = term->check, .advice = term->advice };
    struct arena *arena = doctor->arena;

    if (term->begins > now) {
        finding.verdict = DOCTOR_FAIL;
        finding.text = arena_printf(arena, "%s: not yet valid", term->what);
        finding.advice = "set the clock of this machine, or that of the machine that issued it";
    } else if (term->ends == 0) {
        finding.text = arena_printf(arena, "%s: does not expire", term->what);
    } else if (left <= 0) {
        finding.verdict = DOCTOR_FAIL;
        finding.text = arena_printf(arena, "%s: expired", term->what);
    } else {
        finding.verdict = ends_soon(term, left) ? DOCTOR_WARN : DOCTOR_OK;
        finding.text =
            arena_printf(arena, "%s: good for %s", term->what, describe_left(arena, left));
    }
    if (finding.verdict == DOCTOR_OK)
        finding.advice = NULL;
    doctor_add(doctor, finding);
}

/* --- the report --------------------------------------------------------------------- */

static const char *const verdict_words[] = {
    [DOCTOR_OK] = "ok",
    [DOCTOR_WARN] = "warn",
    [DOCTOR_FAIL] = "fail",
};

static void print_checks_text(const struct doctor *doctor)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&doctor->findings, finding) {
        buf_printf(&out, "%-5s %-12s ", verdict_words[finding->verdict], finding->check);
        columns_print_text(&out, finding->text);
        if (finding->advice)
            buf_printf(&out, "\n                   -> %s", finding->advice);
        buf_add_char(&out, '\n');
    }
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
}

static int print_checks_value(struct doctor *doctor, struct cli *cli, enum fleet_format format)
{
    struct arena *arena = doctor->arena;
    struct value_list *list = value_list_new(arena, doctor->findings.n);
    const struct value result = value_list(list);

    VEC_EACH (&doctor->findings, finding) {
        struct value_map *map = value_map_new(arena, 4);

        value_map_set(arena, map, value_text("check"), value_text(finding->check));
        value_map_set(arena, map, value_text("status"),
                      value_text(verdict_words[finding->verdict]));
        value_map_set(arena, map, value_text("message"), value_text(finding->text));
        if (finding->advice)
            value_map_set(arena, map, value_text("advice"), value_text(finding->advice));
        value_list_push(arena, list, value_map(map));
    }
    return fleet_print(cli, format, &result);
}

int doctor_print(struct doctor *doctor, struct cli *cli, enum fleet_format format)
{
    int status = CLI_OK;

    if (format == FLEET_TEXT)
        print_checks_text(doctor);
    else
        status = print_checks_value(doctor, cli, format);
    VEC_EACH (&doctor->findings, finding)
        if (finding->verdict == DOCTOR_FAIL)
            status = CLI_ERROR;
    return status;
}
