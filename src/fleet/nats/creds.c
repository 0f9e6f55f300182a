#include "fleet/nats/creds.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define JWT_NAME  "NATS USER JWT"
#define SEED_NAME "USER NKEY SEED"

/* "-----BEGIN X-----", with three or more dashes at each end. */
static bool is_mark(struct str line, const char *word, const char *name)
{
    struct str text = line;

    while (text.n > 0 && text.p[0] == '-')
        text = str_from_offset(text, 1);
    while (text.n > 0 && text.p[text.n - 1] == '-')
        text.n--;
    if (line.n < text.n + 6 || !str_starts(line, STR("---")) || !str_ends(line, STR("---")))
        return false;
    if (!str_starts(text, str_from(word)))
        return false;
    return str_is(str_trim_left(str_from_offset(text, strlen(word))), name);
}

/* The one line between the marks; a NULL view when there is none. */
static struct str find_creds_section(struct str text, const char *name)
{
    struct str found = { NULL, 0 };
    bool inside = false;

    while (text.p) {
        struct str line = str_trim(str_cut(&text, '\n'));

        if (is_mark(line, "BEGIN ", name))
            inside = true;
        else if (is_mark(line, "END ", name))
            return found;
        else if (inside && line.n > 0 && !found.p)
            found = line;
    }
    return (struct str){ NULL, 0 };
}

int nats_creds_parse(struct str text, struct nats_creds *ret_creds, struct err *err)
{
    struct str jwt = find_creds_section(text, JWT_NAME), seed = find_creds_section(text, SEED_NAME);
    struct nats_nkey key;

    if (text.n > NATS_CREDS_MAX)
        return err_set(err, ERR_LIMIT, "credentials are larger than %zu bytes", NATS_CREDS_MAX);
    if (!jwt.p)
        return err_set(err, ERR_INVALID, "credentials without a section '%s'", JWT_NAME);
    if (!seed.p)
        return err_set(err, ERR_INVALID, "credentials without a section '%s'", SEED_NAME);
    if (memchr(jwt.p, '\0', jwt.n))
        return err_set(err, ERR_INVALID, "the JWT of the credentials has a NUL byte");
    if (nats_nkey_parse_seed(seed, &key, err) < 0)
        return err_wrap(err, "credentials");
    *ret_creds = (struct nats_creds){ .jwt = mem_alloc(jwt.n + 1), .key = key };
    memcpy(ret_creds->jwt, jwt.p, jwt.n);
    ret_creds->jwt[jwt.n] = '\0';
    nats_nkey_done(&key);
    return 0;
}

void nats_creds_print(const struct nats_creds *creds, struct buf *out)
{
    char seed[NATS_NKEY_TEXT_SIZE];

    nats_nkey_print_seed(&creds->key, seed);
    buf_printf(out, "-----BEGIN " JWT_NAME "-----\n%s\n------END " JWT_NAME "------\n\n",
               creds->jwt);
    buf_printf(out, "-----BEGIN " SEED_NAME "-----\n%s\n------END " SEED_NAME "------\n", seed);
    ed25519_wipe(seed, sizeof(seed));
}

void nats_creds_done(struct nats_creds *creds)
{
    if (creds->jwt)
        ed25519_wipe(creds->jwt, strlen(creds->jwt));
    free(creds->jwt);
    nats_nkey_done(&creds->key);
    creds->jwt = NULL;
}
