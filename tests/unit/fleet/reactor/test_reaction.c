#include "fleet/reactor/reaction.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "fleet/reactor/rule_set.h"
#include "test.h"

static const char *const status_names[] = { "", "render_error", "validate_error" };

static struct value parse_yaml(struct arena *arena, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value v;

    if (yaml_parse(arena, "case", text, NULL, &v, &diags) < 0)
        fail_msg("the case has no YAML");
    return v;
}

/* The event of a case: subject, id, depth, ts, data and facts, each with a default. */
struct world {
    struct event_source source;
    struct event event;
    struct value facts;
};

static void world_init(struct world *world, struct arena *arena, const struct golden *golden)
{
    const struct value v = parse_yaml(arena, golden_section(golden, "event"));
    const struct value *data = value_get(&v, "data"), *facts = value_get(&v, "facts");
    const char *subject = value_get_text(&v, "subject");

    if (!subject)
        subject = "zester.event.web-01.send.myco.deploy.finished";
    CHECK(event_parse_subject(arena, str_from(subject), &world->source));
    world->event = (struct event){
        .id = "2x8RmcqCdbVJqVGJMGzK4TWGUZb",
        .tag = world->source.tag,
        .data = data ? *data : value_null(),
        .ts = { 1800000000, 250000000 },
        .depth = (int32_t)value_get_int(&v, "depth", 0),
    };
    world->facts = facts ? *facts : value_null();
}

static int print_reaction(enum reaction_status status, const struct reaction *reaction,
                          const struct diags *diags, struct buf *out)
{
    CHECK_INT(status == REACTION_OK, diags_count(diags) == 0);
    if (status != REACTION_OK) {
        CHECK_INT(reaction->actions.n, 0);
        buf_printf(out, "%s\n", status_names[status]);
        diags_print(diags, out);
        return -1;
    }
    if (reaction->actions.n == 0)
        buf_add_text(out, "nothing\n");
    VEC_EACH (&reaction->actions, action) {
        action_print(action, out);
        buf_add_char(out, '\n');
    }
    return 0;
}

static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct rule_file file = {
        .path = "deploy.zy",
        .name = "reactor/deploy.zy",
        .text = golden_section(golden, "reaction"),
    };
    const struct reaction_options options = { 0 };
    struct reaction_env *env = reaction_env_new(&options);
    struct reaction reaction;
    struct world world;
    int result;

    world_init(&world, &arena, golden);
    const struct reaction_event event = { &world.source, &world.event, &world.facts, NULL };
    result = print_reaction(reaction_read(env, &arena, &file, &event, &reaction, &diags), &reaction,
                            &diags, out);
    reaction_env_free(env);
    return result;
}

TEST(reactions_read_what_their_file_says)
{
    test_golden("fleet/reactor/reactions.txt", run_case);
}

TEST(mistakes_in_reactions_are_reported_with_their_place)
{
    test_golden("fleet/reactor/reaction_mistakes.txt", run_case);
}

/* --- what cases cannot say ------------------------------------------------------------- */

static enum reaction_status read_text(struct reaction_env *env, struct arena *arena,
                                      struct str text, struct reaction *reaction,
                                      struct diags *diags)
{
    const struct rule_file file = { "a.zy", "reactor/a.zy", text };
    const struct event event = { .id = "E1", .tag = "a" };
    struct event_source source;

    CHECK(event_parse_subject(arena, STR("zester.event._admin.send.a"), &source));
    const struct reaction_event about = { &source, &event, NULL, NULL };
    return reaction_read(env, arena, &file, &about, reaction, diags);
}

/* A clock that goes on a second whenever somebody looks. */
static int64_t tick(void *user)
{
    int64_t *now = user;

    *now += 1000000000;
    return *now;
}

TEST(a_rendering_ends_after_thirty_seconds)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    int64_t now = 0;
    const struct reaction_options options = { .now = tick, .user = &now };
    struct reaction_env *env = reaction_env_new(&options);
    struct reaction reaction;

    CHECK_INT(read_text(env, &arena,
                        STR("{% for i in range(100000) %}{% for j in range(100000) %}"
                            "{% endfor %}{% endfor %}"),
                        &reaction, &diags),
              REACTION_RENDER_ERROR);
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), "longer than the limit of 30000 ms");
    reaction_env_free(env);
}

TEST(args_keep_the_types_of_yaml)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct reaction_options options = { 0 };
    struct reaction_env *env = reaction_env_new(&options);
    struct reaction reaction;
    const struct value *args;

    CHECK_INT(read_text(env, &arena,
                        STR("a: {dispatch.module: {target: 'x', function: test.ping, args: "
                            "{n: 3, b: true, d: 1.5, l: [1, a], t: '3'}}}"),
                        &reaction, &diags),
              REACTION_OK);
    args = &reaction.actions.p[0].dispatch.args;
    CHECK_INT(value_get(args, "n")->kind, VALUE_INT);
    CHECK_INT(value_get(args, "b")->kind, VALUE_BOOL);
    CHECK_INT(value_get(args, "d")->kind, VALUE_DOUBLE);
    CHECK_INT(value_get(args, "l")->kind, VALUE_LIST);
    CHECK_INT(value_get(args, "t")->kind, VALUE_STR);
    reaction_env_free(env);
}

TEST(a_reaction_has_a_limit_of_blocks)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    const struct reaction_options options = { 0 };
    struct reaction_env *env = reaction_env_new(&options);
    struct reaction reaction;

    CHECK_INT(read_text(env, &arena,
                        STR("{% for i in range(257) %}b{{ i }}: {log: x}\n{% endfor %}"), &reaction,
                        &diags),
              REACTION_VALIDATE_ERROR);
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), "more than 256 blocks");
    reaction_env_free(env);
}
