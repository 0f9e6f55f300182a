/* zester update auto: whether masters roll promoted versions out by themselves. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/shared/table.h"
#include "commands/cli/fleet/update/args.h"
#include "commands/cli/fleet/update/versions.h"
#include "core/data/time_text.h"
#include "core/sys/clock.h"
#include "fleet/update/auto_rollout.h"

/* --- on and off ------------------------------------------------------------------------- */

static int set_switch(struct cli *cli, const struct update_args *want, bool enabled)
{
    const int64_t now = clock_wall();
    const struct update_switch set = {
        .enabled = enabled,
        .operator= fleet_user(cli->arena),
        .changed_at = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
    };
    const struct value result = record_value(cli->arena, &update_switch_type, &set);
    struct err err;

    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    if (update_versions_switch(cli->fleet, &set, want->fleet.timeout, &err) < 0)
        return cli_err(cli, &err);
    if (want->fleet.format != FLEET_TEXT)
        return fleet_print(cli, want->fleet.format, &result);
    printf("automatic rollouts are %s\n", enabled ? "on" : "off");
    return CLI_OK;
}

/* --- status ----------------------------------------------------------------------------- */

struct report {
    bool is_set;
    struct update_switch set;
    struct update_versions versions;
    struct auto_rollout_world world;
};

static int read_report(struct fleet *fleet, struct report *ret, struct err *err)
{
    struct update_rollouts rollouts;
    struct str bytes;

    *ret = (struct report){ 0 };
    if (update_versions_read(fleet, &ret->versions, err) < 0 ||
        update_rollouts_read(fleet, &rollouts, err) < 0)
        return -1;
    VEC_EACH (&rollouts.list, rollout)
        VEC_PUSH_IN(fleet->arena, &ret->world.rollouts.list, *rollout);
    if (fleet_bucket_get(fleet, STORE_UPDATE_MANIFESTS, UPDATE_SWITCH_KEY, &bytes, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    ret->is_set = true;
    return record_decode(fleet->arena, &update_switch_type, 1, bytes, &ret->set, err);
}

/* One line for each version, whatever the number of its systems. */
static bool is_listed(const struct update_versions *versions, const struct update_manifest *one)
{
    VEC_EACH (&versions->list, manifest) {
        if (manifest == one)
            return false;
        if (manifest->promoted && manifest->component == one->component &&
            strcmp(manifest->version, one->version) == 0)
            return true;
    }
    return false;
}

static void print_switch(const struct report *report)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (!report->is_set) {
        printf("automatic rollouts: as 'update_auto_rollout' of each master says\n");
        return;
    }
    columns_print_text(&out, report->set.operator);
    buf_add_text(&out, " at ");
    time_print(&out, (struct value_time){ report->set.changed_at.seconds, 0 });
    printf("automatic rollouts: %s, set by %s\n", report->set.enabled ? "on" : "off",
           buf_text(&out));
}

static int print_report(struct cli *cli, const struct report *report)
{
    static const char *const heads[] = { "VERSION", "COMPONENT", "ROLLOUT", "STATE", "ERROR" };
    struct table table = TABLE_INIT(cli->arena, heads);

    VEC_EACH (&report->versions.list, manifest) {
        const struct update_rollout *last;
        const char **row;

        if (!manifest->promoted || is_listed(&report->versions, manifest))
            continue;
        last = auto_rollout_last(&report->world, manifest->component, manifest->version);
        row = table_add(&table);
        row[0] = manifest->version;
        row[1] = update_component_name(manifest->component);
        row[2] = last ? last->id : "-";
        row[3] = last ? update_rollout_state_name(last->state) : "-";
        row[4] = last ? last->error : "";
    }
    print_switch(report);
    return table_print(&table);
}

static struct value version_value(struct arena *arena, const struct report *report,
                                  const struct update_manifest *manifest)
{
    const struct update_rollout *last =
        auto_rollout_last(&report->world, manifest->component, manifest->version);
    struct value_map *map = value_map_new(arena, 5);

    value_map_set(arena, map, value_text("version"), value_text(manifest->version));
    value_map_set(arena, map, value_text("component"),
                  value_text(update_component_name(manifest->component)));
    value_map_set(arena, map, value_text("rollout"), last ? value_text(last->id) : value_null());
    value_map_set(arena, map, value_text("state"),
                  last ? value_text(update_rollout_state_name(last->state)) : value_null());
    value_map_set(arena, map, value_text("error"), value_text(last ? last->error : ""));
    return value_map(map);
}

/* `enabled` is null when nobody has set it for the fleet. */
static struct value report_value(struct arena *arena, const struct report *report)
{
    struct value_list *versions = value_list_new(arena, report->versions.list.n);
    struct value_map *map = value_map_new(arena, 2);

    VEC_EACH (&report->versions.list, manifest)
        if (manifest->promoted && !is_listed(&report->versions, manifest))
            value_list_push(arena, versions, version_value(arena, report, manifest));
    if (report->is_set)
        map = record_value(arena, &update_switch_type, &report->set).map;
    else
        value_map_set(arena, map, value_text("enabled"), value_null());
    value_map_set(arena, map, value_text("versions"), value_list(versions));
    return value_map(map);
}

static int show_status(struct cli *cli, const struct update_args *want)
{
    struct report report;
    struct value result;
    struct err err;

    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    if (read_report(cli->fleet, &report, &err) < 0)
        return cli_err(cli, &err);
    if (want->fleet.format == FLEET_TEXT)
        return print_report(cli, &report);
    result = report_value(cli->arena, &report);
    return fleet_print(cli, want->fleet.format, &result);
}

int update_run_auto(struct cli *cli, const void *args, struct param_strs operands)
{
    const char *word = operands.p[0];

    if (strcmp(word, "status") == 0)
        return show_status(cli, args);
    if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0)
        return set_switch(cli, args, strcmp(word, "on") == 0);
    return cli_usage(cli, "'%s': expected on, off or status", word);
}
