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
