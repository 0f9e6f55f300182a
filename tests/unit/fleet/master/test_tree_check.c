#include "fleet/master/files/tree_check.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

#define STATES "note:\n  test.nop: []\n"

struct yard {
    struct arena arena;
    struct cancel cancel;
    struct tree_check *check;
};

static const char *fill_folder(struct yard *yard, const char *tree, const char *name,
                               const char *text)
{
    const char *folder = path_join(&yard->arena, test_folder(), tree);
    struct err err;

    CHECK(fs_mkdirs(folder, 0755, &err) == 0);
    if (name)
        CHECK(fs_replace(path_join(&yard->arena, folder, name), str_from(text), NULL, &err) == 0);
    return folder;
}

/* The top file gives `web` to all. */
static void open_yard(struct yard *yard, const char *states, const char *settings)
{
    struct err err;

    *yard = (struct yard){ .arena = ARENA_INIT };
    CHECK(cancel_init(&yard->cancel, &err) == 0);
    (void)fill_folder(yard, "states", "top.zy", "base:\n  '*': [web]\n");
    (void)fill_folder(yard, "settings", "top.zy", "base:\n  '*': [all]\n");
    yard->check = tree_check_new(
        &(struct tree_check_options){ .states = fill_folder(yard, "states", "web.zy", states),
                                      .settings = fill_folder(yard, "settings", "all.zy", settings),
                                      .reactor = fill_folder(yard, "reactor", NULL, NULL),
                                      .cancel = &yard->cancel },
        &err);
    CHECK(yard->check != NULL);
}

static void close_yard(struct yard *yard)
{
    tree_check_free(yard->check);
    cancel_done(&yard->cancel);
    arena_done(&yard->arena);
}

static void check_machine(struct yard *yard, const char *peel, const char *facts)
{
    struct value v;
    struct err err;

    CHECK(json_decode(&yard->arena, str_from(facts), &v, &err) == 0);
    tree_check_machine(yard->check, peel, &v);
}

static const struct {
    const char *name, *states, *settings;
    size_t compiled; /* of two machines with other values of `role` and `rack` */
} groups[] = {
    { "facts that no file names do not count", STATES, "a: 1\n", 1 },
    { "a fact that a template reads counts", "{{ grains.role }}:\n  test.nop: []\n", "a: 1\n", 2 },
    { "so does one by subscript", "{{ facts['rack'] }}:\n  test.nop: []\n", "a: 1\n", 2 },
    { "and one by a path", "{{ salt['grains.get']('role', 'x') }}:\n  test.nop: []\n", "a: 1\n",
      2 },
    { "all facts count when they are listed", "{% for x in grains %}{% endfor %}" STATES, "a: 1\n",
      2 },
    { "the name of the machine counts when it is read", "{{ grains.id }}:\n  test.nop: []\n",
      "a: 1\n", 2 },
    { "a literal name is one fact",
      "{{ grains.get('x', 1) }}{{ salt['grains.get']('x') }}:\n  test.nop: []\n", "a: 1\n", 1 },
    { "a fact whose name is computed may be any", "{{ grains['ro' ~ 'le'] }}:\n  test.nop: []\n",
      "a: 1\n", 2 },
    { "so may one in a variable", "{% set x = ['role'] | first %}{{ facts[x] }}:\n  test.nop: []\n",
      "a: 1\n", 2 },
    { "and one in an argument", "{{ salt['grains.get']('ro' ~ 'le') }}:\n  test.nop: []\n",
      "a: 1\n", 2 },
    { "a target may mean each machine", "{{ salt['match.glob']('one') }}:\n  test.nop: []\n",
      "a: 1\n", 2 },
    { "filter_by has a fact of its own",
      "{{ salt['grains.filter_by']({'a': 'x', 'b': 'y'}) }}:\n  test.nop: []\n", "a: 1\n", 2 },
    { "other settings are other inputs", STATES, "a: {{ facts.role }}\n", 2 },
};

TEST(machines_with_equal_inputs_are_compiled_once)
{
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        struct tree_check_counts counts;
        struct yard yard;

        open_yard(&yard, groups[i].states, groups[i].settings);
        check_machine(
            &yard, "one",
            "{\"id\": \"one\", \"role\": \"web\", \"rack\": \"a\", \"os_family\": \"a\"}");
        check_machine(&yard, "two",
                      "{\"id\": \"two\", \"role\": \"db\", \"rack\": \"b\", \"os_family\": \"b\"}");
        counts = tree_check_count(yard.check);
        CHECK_STR(tree_check_at(yard.check, 0) ? tree_check_at(yard.check, 0)->text : "", "");
        CHECK_INT(counts.machines, 2);
        if (counts.compiled != groups[i].compiled)
            CHECK_STR(groups[i].name, "");
        close_yard(&yard);
    }
}

TEST(a_mistake_counts_the_machines_that_it_concerns)
{
    const struct tree_check_mistake *mistake;
    struct yard yard;

    open_yard(&yard, "note:\n  test.nopp: []\n", "a: 1\n");
    for (size_t i = 0; i < 3; i++)
        check_machine(&yard, arena_printf(&yard.arena, "web-%zu", i), "{\"id\": \"x\"}");
    mistake = tree_check_at(yard.check, 0);
    CHECK(mistake && !tree_check_at(yard.check, 1));
    CHECK_HAS(mistake->text, "web.zy:2:3: ");
    CHECK_STR(mistake->peel, "web-0");
    CHECK_INT(mistake->peels, 3);
    CHECK_INT(tree_check_count(yard.check).mistakes[TREE_CHECK_STATES], 3 - 2);
    close_yard(&yard);
}

TEST(an_answer_of_the_machine_is_unknown_and_other_mistakes_are_found)
{
    struct yard yard;

    open_yard(&yard, "include: [asks]\nnote:\n  file.managed:\n    - nmae: /x\n    - name: /x\n",
              "a: 1\n");
    (void)fill_folder(&yard, "states", "asks.zy",
                      "{{ salt['cmd.run']('false') }}:\n  test.nop: []\n");
    check_machine(&yard, "one", "{\"id\": \"one\"}");
    CHECK_INT(tree_check_count(yard.check).unknown, 1);
    CHECK_HAS(tree_check_at(yard.check, 0)->text, "no parameter 'nmae'");
    CHECK(!tree_check_at(yard.check, 1));
    close_yard(&yard);
}

TEST(what_is_canceled_says_nothing)
{
    struct yard yard;

    open_yard(&yard, "note:\n  test.nopp: []\n", "a: 1\n");
    cancel_raise(&yard.cancel);
    check_machine(&yard, "one", "{\"id\": \"one\"}");
    CHECK_INT(tree_check_count(yard.check).machines, 0);
    CHECK(!tree_check_at(yard.check, 0));
    close_yard(&yard);
}
