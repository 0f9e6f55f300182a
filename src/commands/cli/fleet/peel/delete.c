#include "commands/cli/fleet/peel/delete.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/peels.h"
#include "commands/cli/fleet/list.h"
#include "core/data/time_text.h"
#include "fleet/nats/conn.h"
#include "core/sys/clock.h"
#include "fleet/wire/departure.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

/* Servers confirm the revocation, and each entry is removed on its own. */
#define ANSWER_NS   (INT64_C(120) * 1000000000)
#define REQUEST_MAX ((size_t)64 << 10)

/* --- asking ----------------------------------------------------------------------------- */

static int ask_for_deletion(struct fleet *fleet, const struct departure_request *request,
                            struct departure_reply *ret, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(REQUEST_MAX);
    struct str reply;

    if (record_encode(&bytes, &departure_request_type, request, err) < 0)
        return -1;
    if (fleet_request(
            fleet,
            &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_PEEL_DELETE)),
                                .payload = buf_view(&bytes) },
            ANSWER_NS, &reply, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no master is running")
                                          : -1;
    if (record_decode(fleet->arena, &departure_reply_type, 1, reply, ret, err) < 0)
        return -1;
    return ret->err[0] ? err_set(err, ERR_INVALID, "%s", ret->err) : 0;
}

/* Sends as many at once as a master accepts. */
static int delete_peels(struct cli *cli, struct fleet *fleet, const struct peel_delete_args *want,
                        struct param_strs peels, struct departures *ret, struct err *err)
{
    for (size_t i = 0; i < peels.n; i += DEPARTURE_PEELS_MAX) {
        const size_t rest = peels.n - i;
        const struct departure_request request = {
            .peels = { rest < DEPARTURE_PEELS_MAX ? rest : DEPARTURE_PEELS_MAX, peels.p + i },
            .operator= fleet_user(cli->arena),
            .reason = want->reason ? want->reason : "",
            .force = want->force,
        };
        struct departure_reply reply;

        if (ask_for_deletion(fleet, &request, &reply, err) < 0)
            return -1;
        VEC_EACH (&reply.peels.list, departure)
            VEC_PUSH_IN(cli->arena, &ret->list, *departure);
    }
    return 0;
}

/* --- printing --------------------------------------------------------------------------- */

static void print_removed_count(struct buf *out, int32_t count, const char *what,
                                const char *plural)
{
    if (count > 1)
        buf_printf(out, ", %d %s", (int)count, plural);
    else if (count > 0)
        buf_printf(out, ", %s", what);
}

static const char *describe_removed(struct arena *arena, const struct departure *departure)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (departure->revoked > 0)
        buf_add_text(&out, ", credentials revoked");
    print_removed_count(&out, departure->facts, "facts", "facts");
    print_removed_count(&out, departure->secrets, "secrets", "secrets");
    print_removed_count(&out, departure->basket, "1 basket entry", "basket entries");
    print_removed_count(&out, departure->heartbeat, "heartbeat", "heartbeats");
    print_removed_count(&out, departure->update_status, "update status", "update status");
    print_removed_count(&out, departure->enrollments, "1 enrollment", "enrollments");
    return out.n > 0 ? arena_strdup(arena, buf_text(&out) + strlen(", ")) : "nothing was left";
}

static void print_departure(struct cli *cli, const struct departure *departure)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);

    if (departure->err[0]) {
        (void)cli_error(cli, "'%s': %s", peel_id_name(cli->arena, departure->peel_id),
                        departure->err);
        return;
    }
    columns_print_text(&line, peel_id_name(cli->arena, departure->peel_id));
    printf("%s deleted: %s\n", buf_text(&line), describe_removed(cli->arena, departure));
    if (departure->warning[0])
        (void)fprintf(stderr, "WARNING: %s\n", departure->warning);
}

static int print_departures(struct cli *cli, enum fleet_format format,
                            const struct departures *departures)
{
    struct value_list *list = value_list_new(cli->arena, departures->list.n);
    const struct value all = value_list(list);
    int status = CLI_OK;

    VEC_EACH (&departures->list, departure) {
        struct departure shown = *departure;

        shown.peel_id = peel_id_name(cli->arena, departure->peel_id);
        value_list_push(cli->arena, list, record_value(cli->arena, &departure_type, &shown));
        if (departure->err[0])
            status = CLI_ERROR;
        if (format == FLEET_TEXT)
            print_departure(cli, departure);
    }
    if (format != FLEET_TEXT)
        (void)fleet_print(cli, format, &all);
    return status;
}

/* --- the command ------------------------------------------------------------------------ */

/* Names as people write them; each once. */
static int read_ids(struct arena *arena, struct param_strs names, struct param_strs *ret,
                    struct err *err)
{
    const char **ids = ARENA_ARRAY(arena, const char *, names.n);
    size_t n = 0;

    for (size_t i = 0; i < names.n; i++) {
        char id[PEEL_ID_SIZE];
        size_t known = 0;

        if (peel_id_read(names.p[i], id, err) < 0)
            return -1;
        while (known < n && strcmp(ids[known], id) != 0)
            known++;
        if (known == n)
            ids[n++] = arena_strdup(arena, id);
    }
    *ret = (struct param_strs){ n, ids };
    return 0;
}

int peel_run_delete(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_delete_args *want = args;
    struct departures departures = { 0 };
    struct param_strs peels;
    struct err err;

    if (read_ids(cli->arena, operands, &peels, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    if (delete_peels(cli, cli->fleet, want, peels, &departures, &err) < 0)
        return cli_err(cli, &err);
    return print_departures(cli, want->fleet.format, &departures);
}

/* --- prune ------------------------------------------------------------------------------ */

/* Peels not seen for that long. One that was never seen is kept: it may be new. */
struct absent {
    VEC(const struct fleet_peel *) list;
    size_t unseen;
};

static struct absent find_absent(struct arena *arena, const struct fleet_peels *peels,
                                 int64_t older)
{
    const int64_t now = bus_time();
    struct absent absent = { 0 };

    VEC_EACH (&peels->list, peel)
        if ((*peel)->last_seen == 0)
            absent.unseen++;
        else if (now - (*peel)->last_seen > older)
            VEC_PUSH_IN(arena, &absent.list, *peel);
    return absent;
}

static int print_absent(struct cli *cli, enum fleet_format format, const struct absent *absent)
{
    static const struct fleet_column columns[] = {
        FLEET_COLUMN("PEEL ID", "peel_id"),
        FLEET_COLUMN("LAST-SEEN", "last_seen"),
    };
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, columns);

    VEC_EACH (&absent->list, peel) {
        const struct value_time seen = { (*peel)->last_seen / CLOCK_SECOND, 0 };

        fleet_list_add_texts(&list, (const char *[]){ (*peel)->name, time_text(cli->arena, seen) });
    }
    return fleet_list_print(cli, format, &list);
}

static int delete_absent(struct cli *cli, struct fleet *fleet, const struct peel_delete_args *want,
                         const struct absent *absent, struct departures *ret, struct err *err)
{
    const char **ids = ARENA_ARRAY(cli->arena, const char *, absent->list.n + 1);

    for (size_t i = 0; i < absent->list.n; i++)
        ids[i] = absent->list.p[i]->id;
    return delete_peels(cli, fleet, want, (struct param_strs){ absent->list.n, ids }, ret, err);
}

int peel_run_prune(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_delete_args *want = args;
    struct fleet_peels peels = FLEET_PEELS_INIT(cli->arena);
    struct departures departures = { 0 };
    struct absent absent = { 0 };
    struct err err;

    (void)operands;
    if (fleet_peels_read(cli->fleet, &peels, &err) < 0)
        return cli_err(cli, &err);
    absent = find_absent(cli->arena, &peels, want->older);
    if (!want->test && delete_absent(cli, cli->fleet, want, &absent, &departures, &err) < 0)
        return cli_err(cli, &err);
    if (absent.unseen > 0)
        (void)fprintf(stderr, "%zu peel(s) kept: never seen by a master\n", absent.unseen);
    return want->test ? print_absent(cli, want->fleet.format, &absent)
                      : print_departures(cli, want->fleet.format, &departures);
}
