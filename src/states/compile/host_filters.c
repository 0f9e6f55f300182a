#include "states/compile/host_filters.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/render.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fetch.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/program.h"

#define FILE_MAX      ((size_t)64 << 20)
#define LOOK_BYTES    512 /* bytes checked to tell text from binary */
#define FILES_MAX     100000
#define DEPTH_MAX     64
#define BODY_MAX      ((size_t)16 << 20)
#define QUERY_TIMEOUT (30 * CLOCK_SECOND)
#define DAY_SECONDS   86400

/* The argument of all of them: with it, they look at the machine. */
static int read_filter_path(struct render *render, const struct bound_args *bound, const char **ret)
{
    struct str text;

    if (render_ask_host(render, bound->name) < 0)
        return -1;
    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    *ret = arena_strndup(render->arena, text.p, text.n);
    return 0;
}

static int fail_host_filter(struct render *render, const struct bound_args *bound,
                            const struct err *err)
{
    return render_fail(render, RENDER_HOST, "%s: %s", bound->name, err->text);
}

/* --- files --------------------------------------------------------------------------------- */

/* The bytes of a file; a NULL view when it does not exist. */
static int read_filtered_file(struct render *render, const struct bound_args *bound,
                              struct str *ret)
{
    struct fs_info info;
    const char *path;
    struct err err;

    if (read_filter_path(render, bound, &path) < 0)
        return -1;
    *ret = (struct str){ NULL, 0 };
    if (fs_stat(path, &info, &err) < 0)
        return fail_host_filter(render, bound, &err);
    if (info.kind != FS_FILE)
        return 0;
    if (fs_read(render->arena, path, FILE_MAX, ret, &err) < 0)
        return fail_host_filter(render, bound, &err);
    return 0;
}

/* Does the file look like text? */
static bool looks_like_text(struct str bytes)
{
    struct str first = str_slice(bytes, 0, bytes.n < LOOK_BYTES ? bytes.n : LOOK_BYTES);

    if (memchr(first.p, '\0', first.n))
        return false;
    while (first.n > 0 && first.n < bytes.n && ((unsigned char)first.p[first.n - 1] & 0x80))
        first.n--; /* a character that the limit cut */
    return utf8_is_valid(first);
}

static int filter_is_text_file(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    struct str bytes;

    if (read_filtered_file(render, bound, &bytes) < 0)
        return -1;
    *ret = value_bool(bytes.p && looks_like_text(bytes));
    return 0;
}

static int filter_is_bin_file(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    struct str bytes;

    if (read_filtered_file(render, bound, &bytes) < 0)
        return -1;
    *ret = value_bool(bytes.p && !looks_like_text(bytes));
    return 0;
}

static int filter_is_empty_file(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    struct str bytes;

    if (read_filtered_file(render, bound, &bytes) < 0)
        return -1;
    *ret = value_bool(bytes.p && bytes.n == 0);
    return 0;
}

static int filter_file_hashsum(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    const struct digest *digest;
    char hex[DIGEST_HEX_MAX];
    struct str form, bytes;
    struct err err;

    if (argument_text(render, &bound->args[1], &form) < 0 ||
        read_filtered_file(render, bound, &bytes) < 0)
        return -1;
    digest = digest_find(form);
    if (!digest)
        return render_fail(render, RENDER_TYPE, "%s: unknown hash '%.*s'", bound->name,
                           STR_ARG(form));
    if (!bytes.p)
        return render_fail(render, RENDER_HOST, "%s: there is no such file", bound->name);
    if (digest_hex(digest, bytes, NULL, hex, &err) < 0)
        return fail_host_filter(render, bound, &err);
    *ret = value_text(arena_strdup(render->arena, hex));
    return 0;
}

static int add_files(struct render *render, const char *folder, unsigned depth,
                     struct value_list *list, struct err *err)
{
    struct fs_names names = { .list = VEC_INIT };

    if (depth > DEPTH_MAX || list->count > FILES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d paths, or folders deeper than %d levels",
                       FILES_MAX, DEPTH_MAX);
    value_list_push(render->arena, list, value_text(folder));
    if (fs_list(render->arena, folder, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        const char *path = path_join(render->arena, folder, *name);
        struct fs_info info;

        if (fs_lstat(path, &info, err) < 0)
            return -1;
        if (info.kind != FS_FOLDER)
            value_list_push(render->arena, list, value_text(path));
        else if (add_files(render, path, depth + 1, list, err) < 0)
            return -1;
    }
    return 0;
}

static int filter_list_files(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    struct value_list *list = container_new_list(render, 0);
    const char *path;
    struct err err;

    if (read_filter_path(render, bound, &path) < 0)
        return -1;
    if (add_files(render, path, 0, list, &err) < 0)
        return fail_host_filter(render, bound, &err);
    *ret = value_list(list);
    return 0;
}

/* --- programs and the network ---------------------------------------------------------------- */

static int filter_which(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const char *name, *found;

    if (read_filter_path(render, bound, &name) < 0)
        return -1;
    found = program_find(render->arena, name);
    *ret = found ? value_text(found) : value_null();
    return 0;
}

static const char *address_text(struct arena *arena, const struct addrinfo *info)
{
    char text[NI_MAXHOST];

    if (getnameinfo(info->ai_addr, info->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST))
        return "";
    return arena_strdup(arena, text);
}

/* The address of a name; with `safe` a name that has none is none. */
static int filter_dns_check(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
    const char *name;
    int rc;

    if (read_filter_path(render, bound, &name) < 0)
        return -1;
    if (!argument_is_none(&bound->args[3]))
        hints.ai_family = value_is_true(&bound->args[3]) ? AF_INET6 : AF_INET;
    rc = getaddrinfo(name, NULL, &hints, &list);
    *ret = value_null();
    if (rc == 0)
        *ret = value_text(address_text(render->arena, list));
    if (list)
        freeaddrinfo(list);
    if (rc != 0 && !value_is_true(&bound->args[2]))
        return render_fail(render, RENDER_HOST, "%s: '%s': %s", bound->name, name,
                           gai_strerror(rc));
    return 0;
}

/* The response of an address, like Salt's http.query. */
static int filter_http_query(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    const struct fetch_options options = { .size_max = BODY_MAX, .timeout = QUERY_TIMEOUT };
    struct value_map *map = container_new_map(render, 1);
    const char *url;
    struct str body;
    struct err err;

    if (read_filter_path(render, bound, &url) < 0)
        return -1;
    if (fetch(render->arena, url, &options, &body, &err) < 0)
        value_map_set(render->arena, map, value_text("error"),
                      value_text(arena_strdup(render->arena, err.text)));
    else
        value_map_set(render->arena, map, value_text("body"), value_str(body));
    *ret = value_map(map);
    return 0;
}

static int filter_get_uid(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct account *account;
    const char *name;
    struct err err;

    if (argument_is_none(&bound->args[0])) {
        *ret = value_int(geteuid());
        return 0;
    }
    if (read_filter_path(render, bound, &name) < 0)
        return -1;
    if (account_find(render->arena, name, &account, &err) < 0)
        return fail_host_filter(render, bound, &err);
    *ret = account ? value_int(account->uid) : value_null();
    return 0;
}

/* --- the clock ------------------------------------------------------------------------------- */

/* Seconds of a word for a day, or of none, which is now. False: it is another value. */
static bool read_moment(const struct value *v, int64_t *ret)
{
    static const struct {
        const char *word;
        int day; /* from today, at midnight */
    } days[] = { { "today", 0 }, { "midnight", 0 }, { "tomorrow", 1 }, { "yesterday", -1 } };
    const int64_t now = clock_wall() / CLOCK_SECOND;

    *ret = now;
    if (argument_is_none(v) || (v->kind == VALUE_STR && str_is(v->s, "now")))
        return true;
    for (size_t i = 0; v->kind == VALUE_STR && i < ARRAY_LEN(days); i++)
        if (str_is(v->s, days[i].word)) {
            *ret = now - now % DAY_SECONDS + days[i].day * DAY_SECONDS;
            return true;
        }
    return false;
}

/* The filter on values alone, and the moments that need a clock. */
static int filter_host_strftime(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    const struct function *plain = builtins_find(filter_builtins.filters, str_from(bound->name));
    struct value args[] = { bound->args[0], bound->args[1] };
    struct bound_args with = *bound;
    int64_t moment;

    if (read_moment(&args[0], &moment)) {
        if (render_ask_host(render, bound->name) < 0)
            return -1;
        args[0] = value_int(moment);
    }
    with.args = args;
    return plain->call(render, &with, ret);
}

/* clang-format off */
static const struct function host_functions[] = {
    { "date_format",   "value=none, format='%Y-%m-%d'", filter_host_strftime, "a moment as text, in UTC; none is now" },
    { "dns_check",     "value, port=80, safe=false, ipv6=none", filter_dns_check, "the address of a name" },
    { "file_hashsum",  "value, form='sha256'", filter_file_hashsum, "the hash of a file" },
    { "get_uid",       "value=none", filter_get_uid, "the ID of a user, or of this process; none when there is no such user" },
    { "http_query",    "value, method='GET'", filter_http_query, "a map with the 'body' at an address, or the 'error'" },
    { "is_bin_file",   "value", filter_is_bin_file, "is it a file of other bytes than text?" },
    { "is_binary_file", "value", filter_is_bin_file, "is it a file of other bytes than text?" },
    { "is_empty",      "value", filter_is_empty_file, "is it an empty file?" },
    { "is_empty_file", "value", filter_is_empty_file, "is it an empty file?" },
    { "is_text_file",  "value", filter_is_text_file, "is it a file of text?" },
    { "list_files",    "value", filter_list_files, "a folder and all that is below it" },
    { "strftime",      "value=none, format='%Y-%m-%d'", filter_host_strftime, "a moment as text, in UTC; none is now" },
    { "which",         "value", filter_which, "where a program is on the path; none" },
    { 0 },
};
/* clang-format on */

const struct builtins *host_filters_builtins(struct arena *arena)
{
    struct builtins *all = ARENA_NEW(arena, struct builtins);
    const struct function **tables;
    size_t count = 0;

    while (filter_builtins.filters[count])
        count++;
    tables = ARENA_ARRAY(arena, const struct function *, count + 2);
    tables[0] = host_functions; /* first: some replace filters without a clock */
    memcpy(tables + 1, filter_builtins.filters, count * sizeof(*tables));
    tables[count + 1] = NULL;
    *all = filter_builtins;
    all->filters = tables;
    return all;
}
