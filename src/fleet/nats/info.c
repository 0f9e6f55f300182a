#include "fleet/nats/info.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/parser.h"
#include "fleet/nats/servers.h"

#define MAX_PAYLOAD_DEFAULT ((size_t)1 << 20)
#define VERSION_PARTS       3
#define VERSION_PART_MAX    999

/* "2.10.1-beta.3" is 2010001. */
static int parse_server_version(struct str text)
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

static size_t read_max_payload(const struct value *info)
{
    const int64_t bytes = value_get_int(info, "max_payload", 0);

    if (bytes <= 0)
        return MAX_PAYLOAD_DEFAULT;
    return bytes > (int64_t)NATS_PAYLOAD_MAX ? NATS_PAYLOAD_MAX : (size_t)bytes;
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
        .server_id = value_get_view(&info, "server_id"),
        .server_name = value_get_view(&info, "server_name"),
        .version_text = value_get_view(&info, "version"),
        .nonce = value_get_view(&info, "nonce"),
        .cluster = value_get_view(&info, "cluster"),
        .client_id = (uint64_t)value_get_int(&info, "client_id", 0),
        .max_payload = read_max_payload(&info),
        .headers = value_get_bool(&info, "headers"),
        .jetstream = value_get_bool(&info, "jetstream"),
        .auth_required = value_get_bool(&info, "auth_required"),
        .tls_required = value_get_bool(&info, "tls_required"),
        .tls_available = value_get_bool(&info, "tls_available"),
        .lame_duck = value_get_bool(&info, "ldm"),
    };
    ret_info->version = parse_server_version(ret_info->version_text);
    read_urls(arena, value_get(&info, "connect_urls"), ret_info);
    return 0;
}
