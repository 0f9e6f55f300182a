/* cron.list - the entries in the crontab of a user. */
#include "core/base/err.h"
#include "core/edit/crontab.h"
#include "states/modules/cron/crons.h"
#include "states/state/module.h"

#define ARGS struct list_args

struct list_args {
    const char *user;
};

static const struct param list_params[] = {
    PARAM("user", STR, ARGS, user, "the user who owns the crontab",
          .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};

static int list_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct list_args *want = args;
    struct value_list *list = value_list_new(run->arena, 8);
    struct crontab_block block;
    struct str text;

    if (crons_read(run, want->user, &text, err) < 0)
        return -1;
    for (size_t at = 0; crontab_next(text, at, &block); at = block.at + block.size) {
        struct value_map *entry = value_map_new(run->arena, 4);

        value_map_set(run->arena, entry, value_text("identifier"),
                      value_str(arena_str(run->arena, block.label)));
        value_map_set(run->arena, entry, value_text("schedule"),
                      value_str(arena_str(run->arena, block.entry.schedule)));
        value_map_set(run->arena, entry, value_text("command"),
                      value_str(arena_str(run->arena, block.entry.command)));
        value_map_set(run->arena, entry, value_text("commented"), value_bool(block.entry.disabled));
        value_list_push(run->arena, list, value_map(entry));
    }
    *ret = value_list(list);
    return 0;
}

const struct module module_cron_list = {
    .name = "cron.list",
    .summary = "the entries in the crontab of a user",
    .example = "user: root\n",
    .params = list_params,
    .args_size = sizeof(struct list_args),
    .call = list_call,
};
