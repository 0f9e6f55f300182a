#include "fleet/nats/nkey.h"

#include "core/base/err.h"
#include "core/base/hex.h"
#include "fleet/nats/creds.h"
#include "test.h"

/* The first key of RFC 8032, with prefix and checksum added by another implementation. */
#define SEED_HEX  "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
#define USER      "UDLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRUVAL"
#define USER_SEED "SUAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YALCA"
#define CURVE     "XDLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRV6DZ"

static const struct {
    enum nats_nkey_kind kind;
    const char *public_key, *seed;
} cases[] = {
    { NATS_NKEY_ACCOUNT, "ADLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRVRTU",
      "SAAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YHY3Q" },
    { NATS_NKEY_USER, USER, USER_SEED },
    { NATS_NKEY_OPERATOR, "ODLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRVH7S",
      "SOAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YFUVY" },
    { NATS_NKEY_SERVER, "NDLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRUM4A",
      "SNAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YFXBM" },
    { NATS_NKEY_CLUSTER, "CDLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRUDRI",
      "SCAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YH2DI" },
};

TEST(keys_of_every_kind_are_read_and_written)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ED25519_SEED_SIZE);
    struct err err;

    CHECK_INT(hex_decode(STR(SEED_HEX), &bytes, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[NATS_NKEY_TEXT_SIZE];
        struct nats_nkey key, back;

        nats_nkey_make(cases[i].kind, (const unsigned char *)bytes.p, &key);
        nats_nkey_print_public(&key, text);
        CHECK_STR(text, cases[i].public_key);
        nats_nkey_print_seed(&key, text);
        CHECK_STR(text, cases[i].seed);
        CHECK_INT(nats_nkey_parse_seed(str_from(cases[i].seed), &back, &err), 0);
        CHECK_INT(memcmp(&key, &back, sizeof(key)), 0);
        CHECK_INT(nats_nkey_parse_public(str_from(cases[i].public_key), &back, &err), 0);
        CHECK(back.kind == cases[i].kind && !back.has_seed);
        CHECK_INT(memcmp(key.public_key, back.public_key, sizeof(key.public_key)), 0);
    }
}

static const char *const bad_seeds[] = {
    "",
    "SUA",
    USER,
    "suaj2ynrtxx72wtaxkcev5es5qwmircjyvuxwmtjdfydxladdsxh6yalca",
    "SUAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YALCB",
    (USER_SEED "A"),
    "SUBJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YALCA",
};

TEST(a_seed_that_is_wrong_is_refused_and_not_shown)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_seeds); i++) {
        struct nats_nkey key;
        struct err err;

        CHECK_INT(nats_nkey_parse_seed(str_from(bad_seeds[i]), &key, &err), -1);
        CHECK(!strstr(err.text, "SUA") && !strstr(err.text, "SUB"));
    }
}

TEST(public_keys_of_other_uses_are_refused)
{
    struct nats_nkey key;
    struct err err;

    CHECK_INT(nats_nkey_parse_public(STR(CURVE), &key, &err), -1);
    CHECK_STR(err.text, "not a public nkey");
    CHECK_INT(nats_nkey_parse_public(STR(USER_SEED), &key, &err), -1);
}

#define JWT "eyJ0eXAi.eyJqdGki.c2ln"
#define CREDS                                                                                      \
    "-----BEGIN NATS USER JWT-----\n" JWT "\n------END NATS USER JWT------\n\n"                    \
    "************* IMPORTANT *************\n"                                                      \
    "-----BEGIN USER NKEY SEED-----\n" USER_SEED "\n------END USER NKEY SEED------\n"

TEST(credentials_are_a_jwt_and_a_seed)
{
    AUTO_BUF struct buf text = BUF_INIT(NATS_CREDS_MAX);
    struct nats_creds creds, again;
    struct err err;

    CHECK_INT(nats_creds_parse(STR(CREDS), &creds, &err), 0);
    CHECK_STR(creds.jwt, JWT);
    CHECK(creds.key.has_seed && creds.key.kind == NATS_NKEY_USER);
    nats_creds_print(&creds, &text);
    CHECK_INT(nats_creds_parse(buf_view(&text), &again, &err), 0);
    CHECK_STR(again.jwt, JWT);
    CHECK_INT(memcmp(&again.key, &creds.key, sizeof(creds.key)), 0);
    nats_creds_done(&creds);
    nats_creds_done(&again);
    CHECK(!creds.jwt && !creds.key.has_seed);
}

static const struct {
    const char *text, *error;
} bad_creds[] = {
    { "", "credentials without a section 'NATS USER JWT'" },
    { "-----BEGIN NATS USER JWT-----\nx\n", "credentials without a section 'NATS USER JWT'" },
    { "-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------\n",
      "credentials without a section 'USER NKEY SEED'" },
    { "---BEGIN NATS USER JWT---\nx\n---END NATS USER JWT---\n---BEGIN USER NKEY SEED---\nSUAX\n"
      "---END USER NKEY SEED---\n",
      "credentials: not a valid nkey" },
};

TEST(credentials_that_lack_something_are_refused)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_creds); i++) {
        struct nats_creds creds;
        struct err err;

        CHECK_INT(nats_creds_parse(str_from(bad_creds[i].text), &creds, &err), -1);
        CHECK_STR(err.text, bad_creds[i].error);
    }
}
