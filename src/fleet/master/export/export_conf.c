#include "fleet/master/export/export_conf.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/glob.h"
#include "core/data/value.h"
#include "fleet/master/web.h"
#include "core/sys/clock.h"

#define ARGS struct export_conf

/* clang-format off */
static const struct param rows[] = {
    PARAM("name",       STR,      ARGS, name, "name in logs and metrics, and on the bus", .flags = PARAM_REQUIRED),
    PARAM("url",        STR,      ARGS, url, "URL for POST requests with the records", .kind_text = "URL", .flags = PARAM_REQUIRED),
    PARAM("match",      STRS,     ARGS, match, "keys of events: <origin>/<tag>, with globs", .default_text = "*"),
    PARAM("jobs",       BOOL,     ARGS, jobs, "also returns and records of ended jobs", .default_text = "false"),
    PARAM("token_file", PATH,     ARGS, token_file, "file with the bearer token in its first line"),
    PARAM("ca",         PATH,     ARGS, ca, "CA certificates for the server"),
    PARAM("timeout",    DURATION, ARGS, timeout, "for one request", PARAM_RANGE(CLOCK_SECOND, 300 * CLOCK_SECOND), .default_text = "10s"),
    PARAM("batch",      INT,      ARGS, batch, "records of one request, at most", PARAM_RANGE(1, EXPORT_BATCH_MAX), .default_text = "1"),
    PARAM("insecure",   BOOL,     ARGS, insecure, "allow http:// to other machines", .default_text = "false"),
    { 0 },
};
/* clang-format on */

/* Part of the name of a consumer and of a lease. */
static bool is_export_name(const char *name)
{
    const size_t n = strlen(name);

    return n > 0 && n <= EXPORT_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static void check_one_export(const struct export_confs *before, const struct export_conf *conf,
                             const struct value *given, struct diags *diags)
{
    const char *problem = web_check_url(conf->url, conf->insecure);

    if (!is_export_name(conf->name))
        (void)value_diag(diags, value_point(given, "name"),
                         "'export': a name has up to %d of a-z, 0-9, '_' and '-', got '%.64s'",
                         EXPORT_NAME_MAX, conf->name);
    else if (export_conf_find(before, conf->name))
        (void)value_diag(diags, value_point(given, "name"), "'export': duplicate name '%s'",
                         conf->name);
    if (problem)
        (void)value_diag(diags, value_point(given, "url"), "'export': the address %s", problem);
    if (conf->match.n == 0 && !conf->jobs)
        (void)value_diag(diags, given, "'export': '%.64s' has nothing to send: no match, no jobs",
                         conf->name);
}

int export_conf_read(struct arena *arena, const struct value *given, struct export_confs *ret,
                     struct diags *diags)
{
    const struct params_policy policy = { .owner = "export" };
    const size_t before = diags->list.n;

    *ret = (struct export_confs){ 0 };
    if (!given)
        return 0;
    if (given->list->count > EXPORTERS_MAX)
        return value_diag(diags, given, "'export': %zu entries, the limit is %d",
                          given->list->count, EXPORTERS_MAX);
    for (size_t i = 0; i < given->list->count; i++) {
        const struct value *one = &given->list->items[i];
        struct export_conf conf = { 0 };

        if (params_decode(arena, rows, &policy, one, &conf, diags) < 0)
            continue;
        check_one_export(ret, &conf, one, diags);
        VEC_PUSH_IN(arena, &ret->list, conf);
    }
    return diags->list.n > before ? -1 : 0;
}

const struct export_conf *export_conf_find(const struct export_confs *confs, const char *name)
{
    VEC_EACH (&confs->list, conf)
        if (strcmp(conf->name, name) == 0)
            return conf;
    return NULL;
}

bool export_conf_matches(const struct export_conf *conf, const char *key)
{
    for (size_t i = 0; i < conf->match.n; i++)
        if (glob_match(str_from(conf->match.p[i]), str_from(key)))
            return true;
    return false;
}
