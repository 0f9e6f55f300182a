#include "states/settings/secret_ref.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "test.h"

struct row {
    const char *text, *name, *path, *field; /* name: NULL when it is refused */
    const char *error;
};

static const struct row rows[] = {
    { "vault:db/main", "vault", "db/main", "", NULL },
    { "v-1_x:db#user name", "v-1_x", "db", "user name", NULL },
    { "op://Vault/item", NULL, NULL, NULL, "the path has a part that is empty, '.' or '..'" },
    { "v:a b/c:d", "v", "a b/c:d", "", NULL },
    { "v:hosts/{id}#a#b", "v", "hosts/{id}", "a#b", NULL },
    { "plain", NULL, NULL, NULL, "expected NAME:PATH or NAME:PATH#FIELD" },
    { "v:", NULL, NULL, NULL, "expected NAME:PATH or NAME:PATH#FIELD" },
    { "V:x", NULL, NULL, NULL, "a back-end name has up to 32 characters of a-z, 0-9, '_' and '-'" },
    { ":x", NULL, NULL, NULL, "a back-end name has up to 32 characters of a-z, 0-9, '_' and '-'" },
    { "v:-rf", NULL, NULL, NULL, "the path begins with '-', like an option" },
    { "v:/etc/shadow", NULL, NULL, NULL, "the path has a part that is empty, '.' or '..'" },
    { "v:a/../b", NULL, NULL, NULL, "the path has a part that is empty, '.' or '..'" },
    { "v:a/.", NULL, NULL, NULL, "the path has a part that is empty, '.' or '..'" },
    { "v:a//b", NULL, NULL, NULL, "the path has a part that is empty, '.' or '..'" },
    { "v:a/", NULL, NULL, NULL, "the path has a part that is empty, '.' or '..'" },
    { "v:{role}/x", NULL, NULL, NULL, "the path has braces: only {id} is allowed" },
    { "v:a\nb", NULL, NULL, NULL, "the path has control characters" },
    { "v:a#", NULL, NULL, NULL, "no field after '#'" },
    { "v:a#b\tc", NULL, NULL, NULL, "the field has control characters" },
};

TEST(a_reference_has_a_back_end_a_path_and_an_optional_field)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct secret_ref ref = { 0 };
        struct err err = { 0 };
        const int result = secret_ref_parse(str_from(rows[i].text), &ref, &err);

        if (result != (rows[i].name ? 0 : -1))
            fail_msg("row %zu: %s", i, err.text);
        if (result < 0) {
            CHECK_STR(err.text, rows[i].error);
            continue;
        }
        CHECK_STR(arena_str(&arena, ref.name).p, rows[i].name);
        CHECK_STR(arena_str(&arena, ref.path).p, rows[i].path);
        CHECK_STR(arena_str(&arena, ref.field).p, rows[i].field);
    }
}

TEST(a_path_may_contain_the_machine_id)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct secret_ref ref;
    struct err err;

    CHECK_INT(secret_ref_parse(STR("v:{id}/of/{id}#x"), &ref, &err), 0);
    CHECK_STR(secret_ref_path(&arena, &ref, "web-01.example"), "web-01.example/of/web-01.example");
    CHECK_INT(secret_ref_parse(STR("v:plain"), &ref, &err), 0);
    CHECK_STR(secret_ref_path(&arena, &ref, "web-01"), "plain");
}

TEST(a_path_and_a_field_have_limits)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *path = arena_alloc(&arena, SECRET_REF_PATH_MAX + 2);
    struct secret_ref ref;
    struct err err;

    memset(path, 'a', SECRET_REF_PATH_MAX + 1);
    path[SECRET_REF_PATH_MAX + 1] = '\0';
    CHECK_INT(secret_ref_parse(str_from(arena_printf(&arena, "v:%s", path)), &ref, &err), -1);
    CHECK_STR(err.text, "the path has more than 512 bytes");
    path[SECRET_REF_PATH_MAX] = '\0';
    CHECK_INT(secret_ref_parse(str_from(arena_printf(&arena, "v:%s", path)), &ref, &err), 0);
    CHECK_INT(secret_ref_parse(str_from(arena_printf(&arena, "v:x#%s", path)), &ref, &err), -1);
    CHECK_STR(err.text, "the field has more than 128 bytes");
}
