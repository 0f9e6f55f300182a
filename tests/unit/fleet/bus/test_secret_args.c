#include "fleet/bus/secret_args.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "fleet/nats/xkey.h"
#include "core/sys/chance.h"
#include "fleet/wire/job.h"
#include "test.h"

/* Masters with a key, and a job with one secret argument. */
struct scene {
    struct arena arena;
    struct nats_nkey account;
    struct job job;
    struct value plain;
};

static void set_text(struct scene *scene, struct value *map, const char *key, const char *text)
{
    value_map_set(&scene->arena, map->map, value_text(key), value_text(text));
}

static void make_account(struct nats_nkey *ret)
{
    unsigned char seed[ED25519_SEED_SIZE];

    chance_bytes(seed, sizeof(seed));
    nats_nkey_make(NATS_NKEY_ACCOUNT, seed, ret);
}

static void open_scene(struct scene *scene)
{
    struct nats_xkey masters;
    struct err err;

    *scene = (struct scene){ .arena = ARENA_INIT,
                             .job = { .function = "cmd.run", .state_id = "ad-hoc" } };
    make_account(&scene->account);
    scene->job.args = value_map(value_map_new(&scene->arena, 1));
    set_text(scene, &scene->job.args, "command", "psql");
    scene->plain = value_map(value_map_new(&scene->arena, 2));
    set_text(scene, &scene->plain, "env.PGPASSWORD", "correct horse");
    set_text(scene, &scene->plain, "stdin", "battery staple");
    nats_xkey_of(&scene->account, &masters);
    CHECK_INT(secret_args_seal(&scene->arena, &masters, &scene->job, &scene->plain,
                               &scene->job.sealed, &err),
              0);
}

static const char *open_error(struct scene *scene)
{
    struct value plain;
    struct err err = { 0 };

    CHECK_INT(secret_args_open(&scene->arena, &scene->account, &scene->job, &plain, &err), -1);
    return arena_strdup(&scene->arena, err.text);
}

TEST(masters_open_what_was_sealed_for_them)
{
    struct scene scene;
    struct value plain;
    struct err err;

    open_scene(&scene);
    CHECK_INT(secret_args_open(&scene.arena, &scene.account, &scene.job, &plain, &err), 0);
    CHECK(value_equal(&plain, &scene.plain));
    for (size_t i = 0; i < scene.job.sealed.map->count; i++)
        CHECK(!strstr(scene.job.sealed.map->pairs[i].value.s.p, "horse"));
    secret_args_wipe(&plain);
    CHECK(!value_equal(&plain, &scene.plain));
    arena_done(&scene.arena);
}

TEST(equal_values_have_different_boxes)
{
    struct scene scene;
    struct nats_xkey masters;
    struct value again;
    struct err err;

    open_scene(&scene);
    nats_xkey_of(&scene.account, &masters);
    CHECK_INT(secret_args_seal(&scene.arena, &masters, &scene.job, &scene.plain, &again, &err), 0);
    CHECK(!value_equal(&again, &scene.job.sealed));
    arena_done(&scene.arena);
}

TEST(other_masters_cannot_open_it)
{
    struct scene scene;

    open_scene(&scene);
    make_account(&scene.account);
    CHECK(strstr(open_error(&scene), "secret argument 'env.PGPASSWORD'"));
    arena_done(&scene.arena);
}

TEST(a_box_belongs_to_its_function_its_arguments_and_its_name)
{
    struct scene scene;
    struct value moved;

    open_scene(&scene);
    scene.job.function = "cmd.shell";
    CHECK(strstr(open_error(&scene), "sealed for another call"));
    scene.job.function = "cmd.run";
    scene.job.state_id = "other";
    CHECK(strstr(open_error(&scene), "sealed for another call"));
    scene.job.state_id = "ad-hoc";
    set_text(&scene, &scene.job.args, "command", "env");
    CHECK(strstr(open_error(&scene), "sealed for another call"));
    set_text(&scene, &scene.job.args, "command", "psql");
    moved = value_map(value_map_new(&scene.arena, 1));
    value_map_set(&scene.arena, moved.map, value_text("args"),
                  *value_get(&scene.job.sealed, "stdin"));
    scene.job.sealed = moved;
    CHECK(strstr(open_error(&scene), "sealed for another call"));
    arena_done(&scene.arena);
}

TEST(a_dry_run_and_the_run_after_it_are_one_call)
{
    struct scene scene;
    struct value plain;
    struct err err;

    open_scene(&scene);
    value_map_set(&scene.arena, scene.job.args.map, value_text("test"), value_bool(true));
    CHECK_INT(secret_args_open(&scene.arena, &scene.account, &scene.job, &plain, &err), 0);
    arena_done(&scene.arena);
}

TEST(what_is_not_a_box_is_refused)
{
    static const char *const texts[] = {
        "",
        "correct horse",
        "ENC[xkey,]",
        "ENC[xkey,,]",
        "ENC[xkey,XAAAA,eGt2MQ==]",
        "ENC[nkey,eGt2MQ==]",
        "ENC[xkey,XCSCYKFQQ4ZUKVQGZK4LJRRTIYBNV6NHW3X4CRGKRSAKFVCIGRNZJSEO,****]",
    };
    struct scene scene;

    open_scene(&scene);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        set_text(&scene, &scene.job.sealed, "stdin", texts[i]);
        CHECK(strstr(open_error(&scene), "secret argument 'stdin'"));
    }
    value_map_set(&scene.arena, scene.job.sealed.map, value_text("stdin"), value_int(1));
    CHECK(strstr(open_error(&scene), "cannot be read"));
    arena_done(&scene.arena);
}

TEST(a_value_that_is_too_large_is_refused_with_the_limit)
{
    struct scene scene;
    struct nats_xkey masters;
    struct value ignored;
    struct err err;
    char *large;

    open_scene(&scene);
    large = arena_zalloc(&scene.arena, SECRET_ARGS_VALUE_MAX + 2);
    memset(large, 'x', SECRET_ARGS_VALUE_MAX + 1);
    set_text(&scene, &scene.plain, "stdin", large);
    nats_xkey_of(&scene.account, &masters);
    CHECK_INT(secret_args_seal(&scene.arena, &masters, &scene.job, &scene.plain, &ignored, &err),
              -1);
    CHECK_INT(err.code, ERR_LIMIT);
    arena_done(&scene.arena);
}
