#include "fleet/nats/login.h"

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/creds.h"

#define LOGIN_MAX ((size_t)128 << 10)

static void add_login_text(struct buf *out, const char *key, struct str value)
{
    buf_printf(out, ",\"%s\":", key);
    json_print_text(out, value, JSON_STYLE_COMPACT);
}

static void add_login_creds(struct buf *out, const struct nats_creds *creds, struct str nonce)
{
    AUTO_BUF struct buf text = BUF_INIT(LOGIN_MAX);
    unsigned char signature[ED25519_SIGNATURE_SIZE];

    nats_nkey_sign(&creds->key, nonce, signature);
    base64_encode(str_bytes(signature, sizeof(signature)), BASE64_URL, &text);
    add_login_text(out, "jwt", str_from(creds->jwt));
    add_login_text(out, "sig", buf_view(&text));
}

static int add_login_identity(const struct nats_options *options, struct str nonce, struct buf *out,
                              struct err *err)
{
    struct nats_creds creds = { 0 };

    if (options->user)
        add_login_text(out, "user", str_from(options->user));
    if (options->password)
        add_login_text(out, "pass", str_from(options->password));
    if (options->token)
        add_login_text(out, "auth_token", str_from(options->token));
    if (!options->creds)
        return 0;
    if (nonce.n == 0)
        return err_set(err, ERR_UNSUPPORTED, "the server does not ask for a signature");
    if (options->creds(options->creds_self, &creds, err) < 0)
        return err_wrap(err, "credentials");
    add_login_creds(out, &creds, nonce);
    nats_creds_done(&creds);
    return 0;
}

int nats_login_print(const struct nats_options *options, struct str nonce, struct buf *out,
                     struct err *err)
{
    buf_add_text(out,
                 "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1.0\","
                 "\"protocol\":1,\"headers\":true,\"no_responders\":true");
    buf_printf(out, ",\"tls_required\":%s,\"echo\":%s", options->tls ? "true" : "false",
               options->no_echo ? "false" : "true");
    if (options->name)
        add_login_text(out, "name", str_from(options->name));
    if (add_login_identity(options, nonce, out, err) < 0)
        return -1;
    buf_add_text(out, "}\r\nPING\r\n");
    return 0;
}
