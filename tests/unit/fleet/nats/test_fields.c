#include "fleet/nats/fields.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"
#include "fleet/nats/info.h"
#include "test.h"

struct config {
    const char *text;
    struct nats_texts texts;
    int64_t number, free_number;
    struct nats_ints numbers;
    bool flag;
    int choice;
    const char *inner;
    bool inner_flag;
};

static const char *const words[] = { "one", "two" };

#define AT(field) offsetof(struct config, field)
static const struct nats_field fields[] = {
    { .name = "text", .kind = NATS_FIELD_TEXT, .offset = AT(text) },
    { .name = "texts",
      .kind = NATS_FIELD_TEXTS,
      .offset = AT(texts),
      .since = NATS_VERSION(2, 10, 0) },
    { .name = "number", .kind = NATS_FIELD_INT, .offset = AT(number), .default_int = -1 },
    { .name = "free", .kind = NATS_FIELD_INT, .offset = AT(free_number), .any = true },
    { .name = "numbers", .kind = NATS_FIELD_INTS, .offset = AT(numbers) },
    { .name = "flag", .kind = NATS_FIELD_BOOL, .offset = AT(flag) },
    { .name = "choice", .kind = NATS_FIELD_CHOICE, .offset = AT(choice), .choices = words },
    { .name = "in.text", .kind = NATS_FIELD_TEXT, .offset = AT(inner) },
    { .name = "in.flag", .kind = NATS_FIELD_BOOL, .offset = AT(inner_flag) },
    { 0 },
};

static const char *const two_texts[] = { "a\"", "b" };
static const int64_t two_numbers[] = { 1, 2 };

TEST(what_is_set_is_written_and_nothing_else)
{
    const struct config all = {
        "t", { two_texts, 2 }, 5, 6, { two_numbers, 2 }, true, 1, "i", true
    };
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct err err;

    CHECK_INT(nats_fields_print(fields, &(struct config){ 0 }, 0, &out, &err), 0);
    CHECK_STR(buf_text(&out), "{\"choice\":\"one\"}");
    buf_clear(&out);
    CHECK_INT(nats_fields_print(fields, &all, NATS_VERSION(2, 10, 1), &out, &err), 0);
    CHECK_STR(
        buf_text(&out),
        "{\"text\":\"t\",\"texts\":[\"a\\\"\",\"b\"],\"number\":5,\"free\":6,\"numbers\":[1,2],"
        "\"flag\":true,\"choice\":\"two\",\"in\":{\"text\":\"i\",\"flag\":true}}");
    CHECK_INT(nats_fields_print(fields, &all, NATS_VERSION(2, 9, 10), &out, &err), -1);
    CHECK_STR(err.text, "'texts' requires a server of version 2.10");
    CHECK_INT(err.code, ERR_UNSUPPORTED);
}

static const struct {
    const char *asked, *got, *error;
} cases[] = {
    { "{}", "{}", NULL },
    { "{}", "{\"number\":-1,\"free\":77,\"choice\":\"one\",\"new\":1}", NULL },
    { "{}", "{\"number\":3}", "'number': asked for the default, the server has 3" },
    { "{}", "{\"flag\":true}", "'flag': asked for the default, the server has true" },
    { "{}", "{\"text\":\"x\"}", "'text': asked for the default, the server has \"x\"" },
    { "{\"number\":5}", "{\"number\":5}", NULL },
    { "{\"number\":5}", "{\"number\":6}", "'number': asked for 5, the server has 6" },
    { "{\"texts\":[\"a\"]}", "{}", "'texts': asked for [\"a\"], the server has null" },
    { "{\"texts\":[\"a\"]}", "{\"texts\":[\"a\",\"b\"]}",
      "'texts': asked for [\"a\"], the server has [\"a\",\"b\"]" },
    { "{\"choice\":\"two\"}", "{\"choice\":\"one\"}",
      "'choice': asked for \"two\", the server has \"one\"" },
    { "{\"in\":{\"text\":\"i\"}}", "{\"in\":{\"text\":\"i\"}}", NULL },
    { "{\"in\":{\"text\":\"i\"}}", "{}", "'in.text': asked for \"i\", the server has null" },
};

TEST(what_the_server_made_of_it_is_compared_field_by_field)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct value asked, got;
        struct nats_error error;
        struct err err;
        int result;

        CHECK_INT(json_decode(&arena, str_from(cases[i].asked), &asked, &err), 0);
        CHECK_INT(json_decode(&arena, str_from(cases[i].got), &got, &err), 0);
        result = nats_fields_compare(fields, &asked, &got, &error);
        CHECK_INT(result, cases[i].error ? -1 : 0);
        if (result < 0)
            CHECK_STR(error.text, cases[i].error);
    }
}
