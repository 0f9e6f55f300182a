/* zester update auto: whether masters roll promoted versions out by themselves. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/list.h"
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
static bool is_version_listed(const struct update_versions *versions,
                              const struct update_manifest *one)
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
        printf("automatic rollouts: as set by 'update_auto_rollout' of each master\n");
        return;
    }
    columns_print_text(&out, report->set.operator);
    buf_add_text(&out, " at ");
    time_print(&out, (struct value_time){ report->set.changed_at.seconds, 0 });
    printf("automatic rollouts: %s, set by %s\n", report->set.enabled ? "on" : "off",
           buf_text(&out));
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

static const struct fleet_column version_columns[] = {
    FLEET_COLUMN("VERSION", "version"),
    FLEET_COLUMN("COMPONENT", "component"),
    FLEET_COLUMN("ROLLOUT", "rollout", .empty = "-"),
    FLEET_COLUMN("STATE", "state", .empty = "-"),
    FLEET_COLUMN("ERROR", "error"),
};

/* `enabled` is null when nobody has set it for the fleet. */
static int print_auto_status(struct cli *cli, enum fleet_format format, const struct report *report)
{
    struct fleet_list versions = FLEET_LIST_INIT(cli->arena, version_columns);
    struct value result = value_map(value_map_new(cli->arena, 2));

    VEC_EACH (&report->versions.list, manifest)
        if (manifest->promoted && !is_version_listed(&report->versions, manifest))
            fleet_list_add(&versions, version_value(cli->arena, report, manifest), manifest);
    if (format == FLEET_TEXT) {
        print_switch(report);
        return fleet_list_print_table(&versions);
    }
    if (report->is_set)
        result = record_value(cli->arena, &update_switch_type, &report->set);
    else
        value_map_set(cli->arena, result.map, value_text("enabled"), value_null());
    value_map_set(cli->arena, result.map, value_text("versions"), fleet_list_value(&versions));
    return fleet_print(cli, format, &result);
}

static int show_auto_status(struct cli *cli, const struct update_args *want)
{
    struct report report;
    struct err err;

    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    if (read_report(cli->fleet, &report, &err) < 0)
        return cli_err(cli, &err);
    return print_auto_status(cli, want->fleet.format, &report);
}

int update_run_auto(struct cli *cli, const void *args, struct param_strs operands)
{
    const char *word = operands.p[0];

    if (strcmp(word, "status") == 0)
        return show_auto_status(cli, args);
    if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0)
        return set_switch(cli, args, strcmp(word, "on") == 0);
    return cli_usage(cli, "'%s': expected on, off or status", word);
}
