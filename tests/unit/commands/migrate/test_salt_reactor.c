/* The reactor of Salt as one of ours; sections are files, "master" is the configuration. */
#include "commands/migrate/salt_reactor.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/yaml.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_check.h"
#include "fleet/reactor/rule_set.h"
#include "test.h"

#define FILES_MAX 16

static struct arena arena = ARENA_INIT;
static struct diags *remarks;

static void fetch_section(void *self, const struct value *at, const char *ref,
                          struct salt_reactor_sources *ret)
{
    const struct golden *golden = self;
    const char *name = strrchr(ref, '/') ? strrchr(ref, '/') + 1 : ref;
    const struct str text = golden_section(golden, name);

    if (text.p)
        VEC_PUSH_IN(&arena, &ret->list, (struct salt_reactor_source){ name, text });
    else
        (void)value_diag(remarks, at, "file '%s' does not exist", ref);
}

/* What was written has no mistakes. */
static void check_tree(const struct salt_reactor *reactor, struct buf *out)
{
    const struct reaction_options options = { .lenient = true };
    struct reaction_env *env = reaction_env_new(&options);
    struct diags diags = DIAGS_INIT(&arena), lints = DIAGS_INIT(&arena);
    struct rule_file files[FILES_MAX];
    struct rule_check_result result;

    for (size_t i = 0; i < reactor->files.n; i++)
        files[i] = (struct rule_file){ .path = reactor->files.p[i].path,
                                       .text = reactor->files.p[i].text };
    if (rule_check(env, files, reactor->files.n, &result, &diags, &lints) < 0)
        diags_print(&diags, out);
    reaction_env_free(env);
}

static int run_case(const struct golden *golden, struct buf *out)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    struct diags diags = DIAGS_INIT(&arena);
    struct salt_reactor reactor = { .arena = &arena,
                                    .fetch = fetch_section,
                                    .self = (void *)(uintptr_t)golden,
                                    .remarks = &diags };
    struct value conf;

    remarks = &diags;
    CHECK_INT(
        yaml_parse(&arena, "master", golden_section(golden, "master"), &options, &conf, &diags), 0);
    salt_reactor_convert(&reactor, value_get(&conf, "reactor"));
    VEC_EACH (&reactor.files, file)
        buf_printf(out, "== %s\n%.*s", file->path, STR_ARG(file->text));
    VEC_EACH (&diags.list, remark)
        buf_printf(out, "%s%s:%u: %s\n", remark == diags.list.p ? "== remarks\n" : "",
                   remark->at.file, remark->at.line, remark->text);
    check_tree(&reactor, out);
    return 0;
}

TEST(a_reactor_of_salt_becomes_a_tree_without_mistakes_and_remarks_say_what_is_missing)
{
    test_golden("commands/migrate/reactor.txt", run_case);
    arena_done(&arena);
}
