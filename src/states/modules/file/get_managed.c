/* file.get_managed - the content that a file would get, in a file of its own. */
#include "core/base/digest.h"
#include "core/base/err.h"
#include "states/modules/file/cache.h"
#include "states/modules/file/checksums.h"
#include "states/modules/file/prospect.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"

#define ARGS struct prospect_args

/* clang-format off */
static const struct param get_managed_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("template", ANY, ARGS, content.template, "render the content: 'jinja'"),
    PARAM("source", ANY, ARGS, content.source, "source of the content"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in a file of checksums"),
    PROSPECT_OWNER(ARGS),
    PROSPECT_ENVIRONMENT(ARGS),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PROSPECT_CERTIFICATES,
    PARAM_IDLE("use_etag", "downloads are checked by hash"),
    CONTENT_SIGNATURES,
    { 0 },
};
/* clang-format on */

static void add_variables(struct state_run *run, const struct prospect_args *want,
                          struct value_map *to)
{
    const struct {
        const char *key, *text;
    } all[] = { { "name", want->name }, { "user", want->user }, { "group", want->group } };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        value_map_set(run->arena, to, value_text(all[i].key),
                      all[i].text ? value_text(all[i].text) : value_null());
    value_map_set(run->arena, to, value_text("mode"), want->mode ? *want->mode : value_null());
}

static int describe_content(struct state_run *run, const struct prospect_args *want,
                            struct str text, struct value *ret, struct err *err)
{
    const char *key = arena_printf(run->arena, "managed:%s", want->name);
    const struct source_content kept = { .text = text, .size = text.n };
    const struct digest *sha256 = digest_find(STR("sha256"));
    char hex[DIGEST_HEX_MAX];

    if (digest_hex(sha256, text, cancel_check, hex, err) < 0 ||
        cache_keep(run, key, &kept, err) < 0)
        return -1;
    value_list_push(run->arena, ret->list, value_text(cache_path(run, key)));
    value_list_push(run->arena, ret->list, checksums_value(run, sha256, str_from(hex)));
    value_list_push(run->arena, ret->list, value_text(""));
    return 0;
}

/* As in Salt: the path of the content, its hash, and what is wrong. */
static int get_managed_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct prospect_args *want = args;
    const struct value variables = value_map(value_map_new(run->arena, 8));
    struct content_args wanted = want->content;
    struct content content;

    *ret = value_list(value_list_new(run->arena, 3));
    add_variables(run, want, variables.map);
    wanted.path = want->name;
    wanted.extra = &variables;
    if (content_get(run, &wanted, &content, err) < 0)
        return -1;
    if (content.given)
        return describe_content(run, want, content.text, ret, err);
    value_list_push(run->arena, ret->list, value_text(""));
    value_list_push(run->arena, ret->list, value_map(value_map_new(run->arena, 0)));
    value_list_push(run->arena, ret->list, value_text(""));
    return 0;
}

const struct module module_file_get_managed = {
    .name = "file.get_managed",
    .summary = "the content that a file would get: the path of a copy, its hash, and a comment",
    .params = get_managed_params,
    .args_size = sizeof(ARGS),
    .call = get_managed_call,
};
