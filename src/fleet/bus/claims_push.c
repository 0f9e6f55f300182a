#include "fleet/bus/claims_push.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/accounts.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/server_list.h"
#include "core/data/value.h"

#define PING_JSZ    "$SYS.REQ.SERVER.PING.JSZ"
#define SUBJECT_MAX 256
#define HTTP_OK     200

struct claims_push {
    struct claims_push_options options;
    struct buf fleet; /* claims of the fleet's account */
    const enum account_role *order;
    size_t step, steps;
    enum account_role role; /* whose claims are sent */
    bool has_old;           /* a server knows no accounts but the fleet's */
    struct server_list *call;
    struct claims_push_result result;
    size_t answered;
};

static void finish_claims_push(struct claims_push *push, const char *problem)
{
    const struct claims_push_options options = push->options;
    struct claims_push_result result = push->result;

    result.problem = problem;
    claims_push_free(push);
    options.done(options.self, &result);
}

static void print_subject(const struct claims_push *push, const char *verb,
                          char subject[static SUBJECT_MAX])
{
    (void)snprintf(subject, SUBJECT_MAX, "$SYS.REQ.ACCOUNT.%s.CLAIMS.%s",
                   push->options.accounts->public_keys[push->role], verb);
}

/* --- sending ------------------------------------------------------------------------ */

static bool on_confirmed(void *self, const struct value *answer)
{
    const struct value *data = value_get(answer, "data");

    (void)self;
    return value_get_int(data, "code", 0) == HTTP_OK;
}

/* Accounts import from each other, so claims of one that a server does not know yet come before the
 * others, and once more when those are there. */
static const enum account_role usual_order[] = { ACCOUNT_FLEET, ACCOUNT_PEELS, ACCOUNT_OPERATORS };
static const enum account_role first_order[] = { ACCOUNT_PEELS, ACCOUNT_OPERATORS, ACCOUNT_FLEET,
                                                 ACCOUNT_PEELS, ACCOUNT_OPERATORS };

/* Do these fleet claims have separate accounts for peels and operators? */
static bool has_derived(struct str jwt)
{
    return accounts_find_border(jwt).version > 0;
}

static void choose_order(struct claims_push *push)
{
    const bool has_new = has_derived(buf_view(&push->fleet));

    push->order = has_new && push->has_old ? first_order : usual_order;
    push->steps = !has_new ? 1 : push->has_old ? ARRAY_LEN(first_order) : ARRAY_LEN(usual_order);
    push->result.confirmed = push->result.servers;
}

static void send_claims(struct claims_push *push);

static void on_push_counted(void *self, size_t counted)
{
    struct claims_push *push = self;

    push->call = NULL;
    if (counted < push->result.confirmed)
        push->result.confirmed = counted;
    if (++push->step == push->steps)
        finish_claims_push(push, NULL);
    else
        send_claims(push);
}

static int derive_claims(struct claims_push *push, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    push->role = push->order[push->step];
    if (push->role == ACCOUNT_FLEET) {
        buf_add_str(out, buf_view(&push->fleet));
        return 0;
    }
    return claims_derive_account(&arena, buf_view(&push->fleet), push->options.accounts, push->role,
                                 push->options.signer, out, err);
}

static void send_claims(struct claims_push *push)
{
    AUTO_BUF struct buf jwt = BUF_INIT(CLAIMS_PUSH_MAX);
    char subject[SUBJECT_MAX];
    struct err err;

    if (derive_claims(push, &jwt, &err) < 0) {
        finish_claims_push(push, err.text);
        return;
    }
    print_subject(push, "UPDATE", subject);
    push->call = server_list_new(push->options.conn,
                                 &(struct server_list_options){ .subject = subject,
                                                                .payload = buf_view(&jwt),
                                                                .expected = push->result.servers,
                                                                .wait = CLAIMS_PUSH_CONFIRM_NS,
                                                                .answer = on_confirmed,
                                                                .done = on_push_counted,
                                                                .self = push },
                                 &err);
    if (!push->call)
        finish_claims_push(push, err.text);
}

static void make_pushed_claims(struct claims_push *push)
{
    struct err err;

    if (!push->options.make) {
        finish_claims_push(push, NULL);
    } else if (push->options.make(push->options.self, &push->fleet, &err) < 0) {
        finish_claims_push(push, err.text);
    } else {
        choose_order(push);
        send_claims(push);
    }
}

/* --- looking ------------------------------------------------------------------------ */

static bool on_push_answer(void *self, struct str text)
{
    struct claims_push *push = self;

    if (text.n == 0)
        return false;
    push->has_old = push->has_old || !has_derived(text);
    push->options.found(push->options.self, text);
    return true;
}

static void on_lookup_counted(void *self, size_t counted)
{
    struct claims_push *push = self;

    push->call = NULL;
    push->result.found = counted;
    make_pushed_claims(push);
}

static void ask_claims(struct claims_push *push)
{
    char subject[SUBJECT_MAX];
    struct err err;

    if (!push->options.found) {
        make_pushed_claims(push);
        return;
    }
    print_subject(push, "LOOKUP", subject);
    push->call = server_list_new(push->options.conn,
                                 &(struct server_list_options){ .subject = subject,
                                                                .payload = STR(""),
                                                                .expected = push->result.servers,
                                                                .wait = CLAIMS_PUSH_COUNT_NS,
                                                                .text = on_push_answer,
                                                                .done = on_lookup_counted,
                                                                .self = push },
                                 &err);
    if (!push->call)
        finish_claims_push(push, err.text);
}

/* --- counting ----------------------------------------------------------------------- */

/* Servers that answer, and those that the cluster knows but cannot reach. */
static bool on_server(void *self, const struct value *answer)
{
    struct claims_push *push = self;
    const struct value *size = value_path(answer, STR("data.meta_cluster.cluster_size"), '.');

    push->answered++;
    if (value_is(size, VALUE_INT) && size->i > 0 && (size_t)size->i > push->result.servers)
        push->result.servers = (size_t)size->i;
    if (push->answered > push->result.servers)
        push->result.servers = push->answered;
    return true;
}

static size_t expect_servers(void *self)
{
    return ((struct claims_push *)self)->result.servers;
}

static void on_counted(void *self, size_t counted)
{
    struct claims_push *push = self;

    (void)counted;
    push->call = NULL;
    if (push->result.servers == 0)
        push->result.servers = 1; /* the one that we are connected to */
    ask_claims(push);
}

struct claims_push *claims_push_new(const struct claims_push_options *options, struct err *err)
{
    struct claims_push *push = mem_zalloc(sizeof(*push));

    push->options = *options;
    push->fleet = (struct buf)BUF_INIT(CLAIMS_PUSH_MAX);
    push->call = server_list_new(options->conn,
                                 &(struct server_list_options){ .subject = PING_JSZ,
                                                                .payload = STR("{}"),
                                                                .wait = CLAIMS_PUSH_COUNT_NS,
                                                                .answer = on_server,
                                                                .expect = expect_servers,
                                                                .done = on_counted,
                                                                .self = push },
                                 err);
    if (push->call)
        return push;
    free(push);
    return NULL;
}

void claims_push_free(struct claims_push *push)
{
    if (!push)
        return;
    server_list_free(push->call);
    buf_done(&push->fleet);
    free(push);
}
