#include "commands/cli/fleet/enroll/join_token.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "fleet/enroll/https.h"
#include "fleet/nats/kv.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/hostnames.h"
#include "fleet/wire/cluster_info.h"

#define RECORD_MAX 4096

static const char *token_key(struct arena *arena, const char *id)
{
    return arena_printf(arena, TOKEN_KEY "%s", id);
}

/* --- reading ------------------------------------------------------------------------ */

static void on_token_record(void *self, const struct nats_kv_entry *entry)
{
    struct join_token_list *list = self;
    struct token_record record;
    struct err err;

    if (record_decode(list->arena, &token_record_type, 1, arena_str(list->arena, entry->value),
                      &record, &err) == 0 &&
        str_eq_text(str_from_offset(entry->key, strlen(TOKEN_KEY)), record.id))
        VEC_PUSH_IN(list->arena, &list->tokens, record);
}

static int compare_tokens(const void *a, const void *b)
{
    const struct token_record *left = a, *right = b;

    if (left->created_at.seconds != right->created_at.seconds)
        return left->created_at.seconds < right->created_at.seconds ? -1 : 1;
    return strcmp(left->id, right->id);
}

int join_token_list(struct fleet *fleet, struct join_token_list *ret_list, struct err *err)
{
    *ret_list = (struct join_token_list){ .arena = fleet->arena };
    fleet_learn_time(fleet); /* masters compare with it, too */
    if (fleet_bucket_each(fleet, STORE_ENROLLMENTS, TOKEN_KEY "*", on_token_record, ret_list, err) <
        0)
        return -1;
    if (ret_list->tokens.n > 0)
        qsort(ret_list->tokens.p, ret_list->tokens.n, sizeof(ret_list->tokens.p[0]),
              compare_tokens);
    return 0;
}

bool join_token_is_expired(const struct token_record *record)
{
    return bus_time_seconds() >= record->expires_at.seconds;
}

int join_token_revoke(struct fleet *fleet, const char *id, struct err *err)
{
    struct str value;

    if (fleet_bucket_get(fleet, STORE_ENROLLMENTS, token_key(fleet->arena, id), &value, err) < 0)
        return -1;
    return fleet_bucket_purge(fleet, STORE_ENROLLMENTS, token_key(fleet->arena, id), err);
}

/* --- making ------------------------------------------------------------------------- */

/* Read the pin that masters announce on the bus. */
static int read_ca_pin(struct fleet *fleet, const char **ret_pin, struct err *err)
{
    struct cluster_info info = { 0 };
    struct str value;

    if (fleet_bucket_get(fleet, STORE_SECRETS, CLUSTER_INFO_KEY, &value, err) < 0) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
        return err_set(err, ERR_NOT_FOUND, "no master has announced itself; start one first");
    }
    if (record_decode(fleet->arena, &cluster_info_type, 1, value, &info, err) < 0)
        return -1;
    *ret_pin = info.fingerprint;
    if (!info.fingerprint[0])
        return err_set(err, ERR_UNSUPPORTED,
                       "join tokens need a certificate authority of the fleet ('zester ca init')");
    return 0;
}

static int store_token(struct fleet *fleet, const struct token *token,
                       const struct join_token_want *want, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    char hash[SHA256_HEX_SIZE];
    const struct token_record record = {
        .id = token->id,
        .secret_sha256 = hash,
        .created_at = { .seconds = bus_time_seconds() },
        .expires_at = { .seconds = token->expires },
        .created_by = fleet_user(fleet->arena),
        .peels = want->peels,
    };

    token_hash(token, hash);
    if (record_encode(&bytes, &token_record_type, &record, err) < 0)
        return -1;
    return fleet_bucket_replace(fleet, STORE_ENROLLMENTS, token_key(fleet->arena, token->id),
                                buf_view(&bytes), 0, err);
}

static int delete_expired_tokens(struct fleet *fleet, struct err *err)
{
    struct join_token_list list;

    if (join_token_list(fleet, &list, err) < 0)
        return -1;
    VEC_EACH (&list.tokens, record)
        if (join_token_is_expired(record) &&
            fleet_bucket_purge(fleet, STORE_ENROLLMENTS, token_key(fleet->arena, record->id), err) <
                0)
            return -1;
    return 0;
}

int join_token_make(struct fleet *fleet, const struct join_token_want *want,
                    struct token *ret_token, struct err *err)
{
    unsigned char random[TOKEN_RANDOM_BYTES];
    const char *pin = NULL;

    chance_bytes(random, sizeof(random));
    if (read_ca_pin(fleet, &pin, err) < 0 || delete_expired_tokens(fleet, err) < 0 ||
        token_make(pin, bus_time_seconds() + want->valid / CLOCK_SECOND, random, ret_token, err) <
            0)
        return -1;
    return store_token(fleet, ret_token, want, err);
}

/* --- the line for other machines ------------------------------------------------------ */

/* The port of the first address of a list; 0: it has none. */
static int64_t find_port(const char *addresses)
{
    struct str rest = str_from(addresses), first = str_cut(&rest, ','), port = first;
    int64_t found;
    struct err err;

    while (port.p)
        first = str_cut(&port, ':'); /* the last part is the port */
    return number_parse_int(first, &found, &err) == 0 ? found : 0;
}

static void add_port(struct buf *out, const char *option, const char *addresses, const char *usual)
{
    const int64_t port = find_port(addresses);

    if (port > 0 && port != find_port(usual))
        buf_printf(out, " %s %d", option, (int)port);
}

const char *join_token_command(struct arena *arena, const struct fleet_target *target,
                               const char *host, const struct token *token)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&out, "zester-peel join");
    if (target->enroll_addr)
        add_port(&out, "--enroll-port", target->enroll_addr, HTTPS_PORT);
    if (hostnames_is_loopback(host)) /* others learn from the master where the bus is */
        add_port(&out, "--port", target->urls, FLEET_URL_DEFAULT);
    buf_printf(&out, " %s ", host);
    token_print(token, &out);
    return buf_copy(&out, arena).p;
}
