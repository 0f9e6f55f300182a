/* A table of modules for tests of the compiler: the parameters of well-known modules, and nothing
 * behind them. Included by one file of each test program; it takes the place of the product's
 * table. */
#ifndef TESTS_UNIT_STATES_COMPILE_MODULES_H
#define TESTS_UNIT_STATES_COMPILE_MODULES_H

#include "core/base/err.h"
#include "states/state/module.h"

struct any_args {
    const char *name, *source, *content, *user, *function;
    struct param_strs creates;
    bool flag;
    mode_t mode;
    const struct value *map;
};

static int no_apply(struct state_run *run, const void *args, struct err *err)
{
    (void)run;
    (void)args;
    return err_set(err, ERR_UNSUPPORTED, "never applied");
}

static int echo_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct any_args *want = args;

    (void)run;
    if (want->flag)
        return err_set(err, ERR_INVALID, "told to fail");
    *ret = value_text(want->name);
    return 0;
}

#define NAMED(key, kind, field, ...) PARAM(key, kind, struct any_args, field, __VA_ARGS__)

/* clang-format off */
static const struct param cmd_params[] = {
    NAMED("command", STR, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED, .aliases = "name,cmd"),
    NAMED("creates", STRS, creates, ""),
    NAMED("runas", STR, user, ""),
    { 0 },
};
static const struct param file_params[] = {
    NAMED("path", PATH, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED, .aliases = "name"),
    NAMED("source", STR, source, ""),
    NAMED("content", STR, content, "", .aliases = "contents"),
    NAMED("mode", MODE, mode, ""),
    NAMED("user", STR, user, ""),
    NAMED("makedirs", BOOL, flag, ""),
    NAMED("clean", BOOL, flag, ""),
    NAMED("recurse", STRS, creates, ""),
    { 0 },
};
static const struct param git_params[] = {
    NAMED("name", STR, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED),
    NAMED("target", PATH, content, ""),
    { 0 },
};
static const struct param pkg_params[] = {
    NAMED("name", STR, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED),
    NAMED("version", STR, content, ""),
    NAMED("refresh", BOOL, flag, ""),
    { 0 },
};
static const struct param service_params[] = {
    NAMED("service", STR, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED),
    NAMED("enable", BOOL, flag, ""),
    { 0 },
};
static const struct param user_params[] = {
    NAMED("name", STR, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED),
    NAMED("password", STR, content, "", .flags = PARAM_SECRET),
    { 0 },
};
static const struct param echo_params[] = {
    NAMED("text", STR, name, "", .flags = PARAM_PRIMARY | PARAM_REQUIRED),
    NAMED("fail", BOOL, flag, ""),
    { 0 },
};
static const struct param run_params[] = {
    NAMED("function", STR, function, ""),
    NAMED("arguments", MAP, map, ""),
    { 0 },
};
static const struct param no_params[] = {
    { 0 },
};

#define STATE(symbol, text, table, ...)                                                            \
    static const struct module symbol = { .name = (text), .params = (table),                       \
                                          .args_size = sizeof(struct any_args),                    \
                                          .apply = no_apply, __VA_ARGS__ }

STATE(archive_extracted, "archive.extracted", file_params, .flags = MODULE_TREE);
STATE(cmd_run, "cmd.run", cmd_params, .flags = 0);
STATE(file_absent, "file.absent", file_params, .flags = MODULE_REMOVES | MODULE_LOCAL);
STATE(file_append, "file.append", file_params, .flags = MODULE_LOCAL | MODULE_EDITS);
STATE(file_directory, "file.directory", file_params, .flags = MODULE_LOCAL);
STATE(file_managed, "file.managed", file_params, .flags = MODULE_LOCAL);
STATE(file_recurse, "file.recurse", file_params, .flags = MODULE_TREE);
STATE(file_rename, "file.rename", file_params, .flags = MODULE_WHOLE | MODULE_EDITS);
STATE(file_replace, "file.replace", file_params, .flags = MODULE_LOCAL | MODULE_EDITS);
STATE(file_touch, "file.touch", file_params, .flags = MODULE_LOCAL);
STATE(git_latest, "git.latest", git_params, .flags = MODULE_TREE);
STATE(kepler_condition, "kepler.condition", pkg_params, .flags = 0);
STATE(kepler_running, "kepler.running", file_params, .flags = 0);
STATE(module_run, "module.run", run_params, .flags = 0);
STATE(pkg_installed, "pkg.installed", pkg_params, .lock = "pkg", .flags = MODULE_LOCAL);
STATE(pkg_removed, "pkg.removed", pkg_params, .flags = 0);
STATE(pkgrepo_managed, "pkgrepo.managed", pkg_params, .flags = 0);
STATE(service_running, "service.running", service_params, .flags = 0);
static const struct module test_echo = { .name = "test.echo", .params = echo_params,
                                         .args_size = sizeof(struct any_args), .call = echo_call };
STATE(test_nop, "test.nop", no_params, .flags = MODULE_LOCAL);
STATE(user_present, "user.present", user_params, .flags = 0);
/* clang-format on */

const struct module *const module_table[] = {
    &archive_extracted, &cmd_run,
    &file_absent,       &file_append,
    &file_directory,    &file_managed,
    &file_recurse,      &file_rename,
    &file_replace,      &file_touch,
    &git_latest,        &kepler_condition,
    &kepler_running,    &module_run,
    &pkg_installed,     &pkg_removed,
    &pkgrepo_managed,   &service_running,
    &test_echo,         &test_nop,
    &user_present,      NULL,
};
const size_t module_count = ARRAY_LEN(module_table) - 1;

#endif
