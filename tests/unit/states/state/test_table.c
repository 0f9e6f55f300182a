#include "test.h"

#include "core/base/err.h"
#include "states/state/module.h"

/* The table of the product, as the build made it. */

TEST(modules_are_sorted_by_name_and_found)
{
    CHECK(module_count > 0);
    CHECK(!module_table[module_count]);
    for (size_t i = 0; i < module_count; i++) {
        CHECK(module_find(str_from(module_table[i]->name)) == module_table[i]);
        if (i > 0)
            CHECK(strcmp(module_table[i - 1]->name, module_table[i]->name) < 0);
    }
}

TEST(every_module_has_a_valid_table_and_manual_text)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];
        struct err err = { .text = "" };

        CHECK(module->params);
        CHECK(params_check(module->params, &err) == 0);
        CHECK_STR(err.text, "");
        CHECK(module->summary && module->summary[0]);
        CHECK(strchr(module->name, '.'));
    }
}

TEST(every_module_is_a_state_or_a_function)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];

        CHECK(module->call || (module->check && module->apply));
        CHECK(!module->apply == !module->check);
        if (module->apply)
            CHECK(module->example);
    }
}

/* All names that are a state and a function of an execution module of Salt. */
TEST(names_that_are_states_and_functions_of_salt_do_here_what_they_do_there)
{
    static const struct {
        const char *name;
        bool asks; /* the function of Salt answers a question, and changes nothing */
    } both[] = {
        { "alternatives.auto", false },
        { "alternatives.install", false },
        { "alternatives.remove", false },
        { "alternatives.set", false },
        { "cmd.run", false },
        { "cmd.script", false },
        { "debconf.set", false },
        { "debconf.set_file", false },
        { "environ.setenv", false },
        { "event.send", false },
        { "file.append", false },
        { "file.blockreplace", false },
        { "file.comment", false },
        { "file.copy", false },
        { "file.line", false },
        { "file.mknod", false },
        { "file.patch", false },
        { "file.prepend", false },
        { "file.rename", false },
        { "file.replace", false },
        { "file.symlink", false },
        { "file.touch", false },
        { "file.uncomment", false },
        { "gem.sources_add", false },
        { "gem.sources_remove", false },
        { "git.config_set", false },
        { "git.config_unset", false },
        { "grains.append", false },
        { "iptables.append", false },
        { "iptables.delete", false },
        { "iptables.flush", false },
        { "iptables.insert", false },
        { "iptables.set_policy", false },
        { "service.disabled", true },
        { "service.enabled", true },
        { "service.masked", true },
    };
    size_t asking = 0;

    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        const struct module *module = module_find(str_from(both[i].name));

        CHECK_STR(module ? module->name : "missing", both[i].name);
        CHECK(module_applies(module) == !both[i].asks);
        CHECK(!both[i].asks || (module->apply && module->call));
        asking += both[i].asks;
    }
    for (size_t i = 0; i < module_count; i++)
        if (module_table[i]->flags & MODULE_ASKS)
            asking--;
    CHECK_INT(asking, 0);
}
