#include "nats/info.h"

#include "base/arena.h"
#include "base/err.h"
#include "data/json.h"
#include "data/value.h"
#include "nats/parser.h"
#include "nats/servers.h"

#define MAX_PAYLOAD_DEFAULT ((size_t)1 << 20)
#define VERSION_PARTS       3
#define VERSION_PART_MAX    999

static struct str get_text(const struct value *info, const char *key)
{
    const struct value *v = value_get(info, key);

    return value_is(v, VALUE_STR) ? v->s : STR("");
}

static bool get_bool(const struct value *info, const char *key)
{
    const struct value *v = value_get(info, key);

    return value_is(v, VALUE_BOOL) && v->b;
}

static int64_t get_int(const struct value *info, const char *key, int64_t fallback)
{
    const struct value *v = value_get(info, key);

    return value_is(v, VALUE_INT) && v->i > 0 ? v->i : fallback;
}

/* "2.10.1-beta.3" is 2010001. */
static int read_version(struct str text)
{
    int parts[VERSION_PARTS] = { 0 };
    size_t at = 0;

    for (size_t part = 0; part < VERSION_PARTS; part++) {
        size_t begin = at;

        for (; at < text.n && text.p[at] >= '0' && text.p[at] <= '9'; at++)
            if (parts[part] <= VERSION_PART_MAX)
                parts[part] = parts[part] * 10 + (text.p[at] - '0');
        if (at == begin || parts[part] > VERSION_PART_MAX)
            return 0;
        if (part + 1 < VERSION_PARTS && (at >= text.n || text.p[at++] != '.'))
            return 0;
    }
    return NATS_VERSION(parts[0], parts[1], parts[2]);
}

static void read_urls(struct arena *arena, const struct value *list, struct nats_info *ret)
{
    if (!value_is(list, VALUE_LIST))
        return;
    ret->urls = ARENA_ARRAY(arena, struct str, list->list->count);
    for (size_t i = 0; i < list->list->count && ret->url_count < NATS_SERVERS_MAX; i++)
        if (list->list->items[i].kind == VALUE_STR)
            ret->urls[ret->url_count++] = list->list->items[i].s;
}

int nats_info_decode(struct arena *arena, struct str json, struct nats_info *ret_info,
                     struct err *err)
{
    struct value info;

    if (json_decode_lenient(arena, json, &info, err) < 0)
        return err_wrap(err, "protocol error: INFO");
    if (info.kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "protocol error: INFO is not an object");
    *ret_info = (struct nats_info){
        .server_id = get_text(&info, "server_id"),
        .server_name = get_text(&info, "server_name"),
        .version_text = get_text(&info, "version"),
        .nonce = get_text(&info, "nonce"),
        .cluster = get_text(&info, "cluster"),
        .client_id = (uint64_t)get_int(&info, "client_id", 0),
        .max_payload = (size_t)get_int(&info, "max_payload", MAX_PAYLOAD_DEFAULT),
        .headers = get_bool(&info, "headers"),
        .jetstream = get_bool(&info, "jetstream"),
        .auth_required = get_bool(&info, "auth_required"),
        .tls_required = get_bool(&info, "tls_required"),
        .tls_available = get_bool(&info, "tls_available"),
        .lame_duck = get_bool(&info, "ldm"),
    };
    ret_info->version = read_version(ret_info->version_text);
    if (ret_info->max_payload > NATS_PAYLOAD_MAX)
        ret_info->max_payload = NATS_PAYLOAD_MAX;
    read_urls(arena, value_get(&info, "connect_urls"), ret_info);
    return 0;
}
