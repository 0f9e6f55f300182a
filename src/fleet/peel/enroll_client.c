#include "fleet/peel/enroll_client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/enroll/https.h"
#include "fleet/enroll/token.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/xkey.h"
#include "fleet/peel/bootstrap.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/identity.h"
#include "core/sys/cancel.h"
#include "core/sys/chance.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/fs.h"

#define PAUSE_MIN   (INT64_C(1) * 1000000000)
#define PAUSE_MAX   (INT64_C(30) * 1000000000)
#define POLL_MIN    (INT64_C(10) * 1000000000)
#define POLL_MAX    (INT64_C(300) * 1000000000)
#define SILENCE_MAX (INT64_C(90) * 1000000000) /* three beats of a stream */
#define ANSWER_MAX  ((size_t)64 << 10)
#define CREDS_MODE  0600
#define TRUST_LABEL "zester-enroll-trust-v1\0bind\0"

struct enroll_client {
    struct enroll_client_options options;
    struct arena arena; /* of the texts of the configuration, which may be read again meanwhile */
    struct peel_conf conf;
    struct background_tasks background_tasks;
    struct background_task background_task;
    struct cancel cancel;
    char problem[ERR_TEXT_SIZE]; /* why there are no credentials; "" */
    bool is_done, is_pending, is_untrusted;
};

/* State of one attempt, in its arena. */
struct enroll_attempt {
    struct enroll_client *enroll_client;
    struct arena *arena;
    struct bootstrap bootstrap;
    const char *id;    /* of the enrollment */
    const char *state; /* as it was reported last */
};

/* STEP_UNTRUSTED: the next master, unless all of them are like this. */
enum step { STEP_DONE, STEP_AGAIN, STEP_NEXT_MASTER, STEP_UNTRUSTED, STEP_REFUSED };

/* --- calls ------------------------------------------------------------------------ */

/* False when canceled. */
static bool pause_enrollment(struct enroll_client *enroll_client, int64_t ns)
{
    /* a little longer or shorter, so that a fleet does not come at once */
    const int64_t jitter = (int64_t)(chance_number() % (uint64_t)(ns / 4 + 1));
    struct pollfd fd = { .fd = enroll_client->cancel.fd, .events = POLLIN };
    struct timespec room;

    (void)ppoll(&fd, 1, clock_left(clock_after(clock_real(), ns + jitter), &room), NULL);
    return !cancel_is_raised(&enroll_client->cancel);
}

static struct https_server server_of(const struct enroll_attempt *attempt)
{
    return (struct https_server){ attempt->bootstrap.url,
                                  attempt->bootstrap.is_system ? HTTPS_TRUST_SYSTEM
                                                               : HTTPS_TRUST_TEXT,
                                  attempt->bootstrap.anchor_pem };
}

static int call_enroll_server(struct enroll_attempt *attempt, struct https_request *request,
                              struct https_response *response, struct value *body, struct err *err)
{
    const struct https_server server = server_of(attempt);
    struct err ignored;

    request->size_max = ANSWER_MAX;
    request->token = attempt->enroll_client->options.token;
    request->timeout = request->timeout ? request->timeout : BOOTSTRAP_TIMEOUT;
    request->cancel = &attempt->enroll_client->cancel;
    *body = value_null();
    if (https_call(attempt->arena, &server, request, response, err) < 0)
        return -1;
    if (response->body.n > 0 && !request->event)
        (void)json_decode(attempt->arena, response->body, body, &ignored);
    return 0;
}

/* The next step after an unexpected answer. */
static enum step judge_response(const struct enroll_client *enroll_client,
                                const struct https_response *response, const struct value *body,
                                const char *what, struct err *err)
{
    const char *text = value_get_text(body, "error");

    (void)err_set(err, response->status == 429 ? ERR_BUSY : ERR_INVALID, "%s: %d %s", what,
                  response->status, text ? text : "");
    if (response->status >= 500)
        return STEP_NEXT_MASTER;
    if (response->status == 429)
        return STEP_AGAIN;
    return enroll_client->options.is_watched || enroll_client->options.only_renew ? STEP_REFUSED
                                                                                  : STEP_AGAIN;
}

/* --- signatures ------------------------------------------------------------------- */

static const char *sign_enroll_text(const struct enroll_attempt *attempt, struct str text,
                                    enum base64_form form)
{
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    nats_nkey_sign(&attempt->enroll_client->options.identity->key, text, signature);
    base64_encode(str_bytes(signature, sizeof(signature)), form, &out);
    return buf_copy(&out, attempt->arena).p;
}

static void put_enroll_text(struct enroll_attempt *attempt, struct value *map, const char *key,
                            const char *text)
{
    value_map_set(attempt->arena, map->map, value_text(key), value_text(text));
}

static int make_enroll_body(struct enroll_attempt *attempt, const struct value *nonce,
                            struct buf *out, struct err *err)
{
    const struct enroll_client_options *options = &attempt->enroll_client->options;
    const char *challenge_id = value_get_text(nonce, "challenge_id");
    AUTO_BUF struct buf challenge = BUF_INIT(ANSWER_MAX), text = BUF_INIT(ANSWER_MAX);
    struct value body = value_map(value_map_new(attempt->arena, 10));
    char public_key[NATS_NKEY_TEXT_SIZE], curve[NATS_NKEY_TEXT_SIZE];
    struct nats_xkey xkey;

    if (!challenge_id || base64_decode_strict(value_get_view(nonce, "challenge"), BASE64_STANDARD,
                                              &challenge, err) < 0)
        return err_set(err, ERR_INVALID, "the challenge cannot be read");
    nats_nkey_print_public(&options->identity->key, public_key);
    nats_xkey_of(&options->identity->key, &xkey);
    nats_xkey_print(&xkey, curve);
    put_enroll_text(attempt, &body, "peel_id", options->identity->id);
    put_enroll_text(attempt, &body, "public_key", public_key);
    put_enroll_text(attempt, &body, "curve_public_key", curve);
    put_enroll_text(attempt, &body, "hostname", options->hostname ? options->hostname : "");
    put_enroll_text(attempt, &body, "challenge_id", challenge_id);
    buf_add_str(&text, buf_view(&challenge));
    buf_add_text(&text, curve);
    put_enroll_text(attempt, &body, "signature",
                    sign_enroll_text(attempt, buf_view(&text), BASE64_STANDARD));
    if (attempt->bootstrap.pin[0]) {
        buf_clear(&text);
        buf_add_str(&text, buf_view(&challenge));
        buf_add_str(&text, STR(TRUST_LABEL));
        buf_add_text(&text, attempt->bootstrap.pin);
        put_enroll_text(attempt, &body, "trusted_ca_spki", attempt->bootstrap.pin);
        put_enroll_text(attempt, &body, "trust_signature",
                        sign_enroll_text(attempt, buf_view(&text), BASE64_STANDARD));
    }
    if (options->token)
        put_enroll_text(attempt, &body, TOKEN_FIELD, options->token);
    if (options->renew)
        value_map_set(attempt->arena, body.map, value_text("renew"), value_bool(true));
    if (options->only_renew)
        value_map_set(attempt->arena, body.map, value_text("only_renew"), value_bool(true));
    return json_print(out, &body, JSON_STYLE_COMPACT, err);
}

/* --- steps ------------------------------------------------------------------------ */

static enum step submit_enrollment(struct enroll_attempt *attempt, struct err *err)
{
    const struct enroll_client_options *options = &attempt->enroll_client->options;
    AUTO_BUF struct buf text = BUF_INIT(ANSWER_MAX);
    char public_key[NATS_NKEY_TEXT_SIZE];
    struct https_request request = { .method = "GET" };
    struct https_response response;
    struct value body;

    nats_nkey_print_public(&options->identity->key, public_key);
    request.path = arena_printf(attempt->arena, BOOTSTRAP_PATH "/nonce?peel_id=%s&public_key=%s",
                                options->identity->id, public_key);
    if (call_enroll_server(attempt, &request, &response, &body, err) < 0)
        return STEP_NEXT_MASTER;
    if (response.status != 200)
        return judge_response(attempt->enroll_client, &response, &body, "nonce", err);
    if (make_enroll_body(attempt, &body, &text, err) < 0)
        return STEP_NEXT_MASTER;
    request =
        (struct https_request){ .method = "POST", .path = BOOTSTRAP_PATH, .body = buf_view(&text) };
    if (call_enroll_server(attempt, &request, &response, &body, err) < 0)
        return STEP_NEXT_MASTER;
    if (response.status != 200 && response.status != 201)
        return judge_response(attempt->enroll_client, &response, &body, "enroll", err);
    attempt->id = value_get_text(&body, "id");
    attempt->state = value_get_text(&body, "state");
    if (!attempt->id || !attempt->state) {
        (void)err_set(err, ERR_INVALID, "enroll: the answer has no id");
        return STEP_NEXT_MASTER;
    }
    return STEP_DONE;
}

static bool is_decided(const char *state)
{
    return strcmp(state, "pending") != 0;
}

static bool on_stream_event(void *self, struct str name, struct str data)
{
    struct enroll_attempt *attempt = self;
    const char *state;
    struct value body;
    struct err err;

    if (!str_eq_text(name, "state"))
        return false; /* timeout: ask again */
    if (json_decode(attempt->arena, data, &body, &err) < 0)
        return true;
    state = value_get_text(&body, "state");
    if (state)
        attempt->state = state;
    return !is_decided(attempt->state);
}

static enum step ask_status(struct enroll_attempt *attempt, struct err *err)
{
    struct https_request request = {
        .method = "GET",
        .path = arena_printf(attempt->arena, BOOTSTRAP_PATH "/%s/status", attempt->id)
    };
    struct https_response response;
    struct value body;

    if (call_enroll_server(attempt, &request, &response, &body, err) < 0)
        return STEP_NEXT_MASTER;
    if (response.status == 404) {
        (void)err_set(err, ERR_NOT_FOUND, "the enrollment is no longer known");
        return STEP_REFUSED; /* a new one */
    }
    if (response.status != 200 || !value_get_text(&body, "state"))
        return judge_response(attempt->enroll_client, &response, &body, "status", err);
    attempt->state = value_get_text(&body, "state");
    return STEP_DONE;
}

/* By a stream; when that does not work, by asking, at most as often as POLL_MIN. */
static enum step wait_for_decision(struct enroll_attempt *attempt, struct err *err)
{
    int64_t pause = POLL_MIN;

    while (!is_decided(attempt->state)) {
        struct https_request request = {
            .method = "GET",
            .path = arena_printf(attempt->arena, BOOTSTRAP_PATH "/%s/stream", attempt->id),
            .timeout = SILENCE_MAX,
            .event = on_stream_event,
            .self = attempt
        };
        struct https_response response = { 0 };
        struct value body;
        enum step step;

        if (call_enroll_server(attempt, &request, &response, &body, err) == 0 &&
            response.status == 200) {
            pause = POLL_MIN;
            if (is_decided(attempt->state))
                break;
        }
        step = ask_status(attempt, err);
        if (step != STEP_DONE && step != STEP_AGAIN)
            return step;
        if (is_decided(attempt->state))
            break;
        if (response.status != 200 && !pause_enrollment(attempt->enroll_client, pause))
            return STEP_AGAIN;
        if (cancel_is_raised(&attempt->enroll_client->cancel))
            return STEP_AGAIN;
        pause = pause * 2 < POLL_MAX ? pause * 2 : POLL_MAX;
    }
    return STEP_DONE;
}

static int write_enroll_creds(struct enroll_attempt *attempt, const struct value *body,
                              struct err *err)
{
    const struct peel_identity *identity = attempt->enroll_client->options.identity;
    const struct fs_replace_options options = { .attr = { CREDS_MODE, FS_KEEP, FS_KEEP } };
    AUTO_BUF struct buf jwt = BUF_INIT(ANSWER_MAX), text = BUF_INIT(NATS_CREDS_MAX);
    struct nats_creds creds = { .key = identity->key };
    struct peel_account account;
    int result;

    if (base64_decode_strict(value_get_view(body, "creds_data"), BASE64_STANDARD, &jwt, err) < 0 ||
        jwt.n == 0)
        return err_set(err, ERR_INVALID, "the credentials cannot be read");
    creds.jwt =
        arena_strndup(attempt->arena, str_trim(buf_view(&jwt)).p, str_trim(buf_view(&jwt)).n);
    /* those of another account would keep this machine out */
    if (peel_identity_pin(identity, creds.jwt, value_get_text(body, "account_curve_key"), &account,
                          err) < 0)
        return -1;
    nats_creds_print(&creds, &text);
    result = fs_replace(identity->creds_file, buf_view(&text), &options, err);
    ed25519_wipe(text.p, text.n);
    ed25519_wipe(&creds.key, sizeof(creds.key));
    return result;
}

static enum step fetch_creds(struct enroll_attempt *attempt, struct err *err)
{
    const struct peel_identity *identity = attempt->enroll_client->options.identity;
    char public_key[NATS_NKEY_TEXT_SIZE];
    struct https_request request = { .method = "GET" };
    struct https_response response;
    struct value body;

    nats_nkey_print_public(&identity->key, public_key);
    request.path = arena_printf(attempt->arena, BOOTSTRAP_PATH "/%s/creds", attempt->id);
    request.authorization =
        arena_printf(attempt->arena, "Nkey %s:%s", public_key,
                     sign_enroll_text(attempt, str_from(attempt->id), BASE64_URL));
    if (call_enroll_server(attempt, &request, &response, &body, err) < 0)
        return STEP_NEXT_MASTER;
    if (response.status == 403 || response.status == 404) {
        (void)judge_response(attempt->enroll_client, &response, &body, "credentials", err);
        return STEP_REFUSED; /* they were given out before and are lost: a new enrollment */
    }
    if (response.status != 200)
        return judge_response(attempt->enroll_client, &response, &body, "credentials", err);
    return write_enroll_creds(attempt, &body, err) < 0 ? STEP_AGAIN : STEP_DONE;
}

/* --- one attempt ------------------------------------------------------------------ */

static enum step follow_enrollment(struct enroll_attempt *attempt, struct err *err)
{
    enum step step = submit_enrollment(attempt, err);

    if (step != STEP_DONE)
        return step;
    log_info("enrollment submitted id=%s state=%s master=%s", attempt->id, attempt->state,
             attempt->bootstrap.url);
    attempt->enroll_client->is_pending = !is_decided(attempt->state);
    step = wait_for_decision(attempt, err);
    if (step != STEP_DONE)
        return step == STEP_REFUSED ? STEP_AGAIN : step;
    attempt->enroll_client->is_pending = false;
    if (strcmp(attempt->state, "rejected") == 0 || strcmp(attempt->state, "revoked") == 0) {
        (void)err_set(err, ERR_INVALID, "the enrollment was %s", attempt->state);
        return STEP_REFUSED;
    }
    crash_point("enrollment-approved");
    step = fetch_creds(attempt, err);
    return step == STEP_REFUSED ? STEP_AGAIN : step;
}

/* A peel with credentials goes on with them, and asks again. */
static enum step judge_server_trust(const struct enroll_client *enroll_client, bool is_other,
                                    const struct err *err)
{
    if (err->code != ERR_UNSAFE || enroll_client->options.renew)
        return STEP_NEXT_MASTER;
    if (enroll_client->options.is_watched)
        return STEP_REFUSED;
    return is_other ? STEP_UNTRUSTED : STEP_NEXT_MASTER;
}

static enum step try_master(struct enroll_client *enroll_client, const char *url, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct enroll_attempt attempt = { .enroll_client = enroll_client, .arena = &arena };
    bool is_other;

    if (bootstrap_ask(&arena, enroll_client->options.conf, url, enroll_client->options.renew,
                      &enroll_client->cancel, &attempt.bootstrap, &is_other, err) < 0)
        return judge_server_trust(enroll_client, is_other, err);
    if (bootstrap_keep(enroll_client->options.conf, &attempt.bootstrap, err) < 0)
        return STEP_AGAIN;
    return follow_enrollment(&attempt, err);
}

static void run_enrollment(struct background_task *background_task)
{
    struct enroll_client *enroll_client =
        container_of(background_task, struct enroll_client, background_task);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct param_strs masters = bootstrap_masters(&arena, enroll_client->options.conf);
    size_t untrusted = 0; /* masters in a row */
    int64_t pause = PAUSE_MIN;
    struct err err;

    for (size_t i = 0; !cancel_is_raised(&enroll_client->cancel);) {
        enum step step;

        (void)err_set(&err, ERR_CANCELED, "canceled");
        step = try_master(enroll_client, masters.p[i % masters.n], &err);
        if (step == STEP_DONE) {
            enroll_client->problem[0] = '\0';
            return;
        }
        if (err.code == ERR_CANCELED)
            return;
        if (step != STEP_REFUSED && strcmp(enroll_client->problem, err.text) != 0)
            log_warning("not enrolled yet master=%s error=%s", masters.p[i % masters.n], err.text);
        memcpy(enroll_client->problem, err.text, sizeof(enroll_client->problem));
        untrusted = step == STEP_UNTRUSTED ? untrusted + 1 : 0;
        enroll_client->is_untrusted = untrusted == masters.n;
        if (step == STEP_REFUSED || enroll_client->is_untrusted)
            return;
        if (step != STEP_AGAIN && ++i % masters.n > 0)
            continue; /* all of them before a pause */
        if (!pause_enrollment(enroll_client, pause))
            return;
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    }
}

static void on_enroll_done(struct background_task *background_task)
{
    struct enroll_client *enroll_client =
        container_of(background_task, struct enroll_client, background_task);

    enroll_client->is_done = true;
    if (!cancel_is_raised(&enroll_client->cancel))
        enroll_client->options.done(enroll_client->options.self,
                                    enroll_client->problem[0] ? enroll_client->problem : NULL);
}

static const char *copy_enroll_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static struct param_strs copy_enroll_texts(struct arena *arena, struct param_strs texts)
{
    const char **list = ARENA_ARRAY(arena, const char *, texts.n + 1);

    for (size_t i = 0; i < texts.n; i++)
        list[i] = arena_strdup(arena, texts.p[i]);
    return (struct param_strs){ texts.n, list };
}

/* Input of the worker. */
static void copy_conf(struct enroll_client *enroll_client)
{
    const struct peel_conf *conf = enroll_client->options.conf;
    struct arena *arena = &enroll_client->arena;

    enroll_client->conf = (struct peel_conf){
        .master_url = copy_enroll_text(arena, conf->master_url),
        .master_urls = copy_enroll_texts(arena, conf->master_urls),
        .enroll_ca = copy_enroll_text(arena, conf->enroll_ca),
        .enroll_ca_pin = copy_enroll_texts(arena, conf->enroll_ca_pin),
        .enroll_trust = conf->enroll_trust,
        .auth_dir = copy_enroll_text(arena, conf->auth_dir),
        .data_dir = copy_enroll_text(arena, conf->data_dir),
    };
    enroll_client->options.conf = &enroll_client->conf;
}

struct enroll_client *enroll_client_begin(const struct enroll_client_options *options,
                                          struct err *err)
{
    struct enroll_client *enroll_client = mem_zalloc(sizeof(*enroll_client));

    enroll_client->arena = (struct arena)ARENA_INIT;
    enroll_client->options = *options;
    copy_conf(enroll_client);
    if (cancel_init(&enroll_client->cancel, err) < 0) {
        arena_done(&enroll_client->arena);
        free(enroll_client);
        return NULL;
    }
    if (background_tasks_open_workers(&enroll_client->background_tasks, options->loop, 1, err) <
        0) {
        enroll_client_free(enroll_client);
        return NULL;
    }
    background_task_begin(&enroll_client->background_tasks, &enroll_client->background_task,
                          run_enrollment, on_enroll_done);
    return enroll_client;
}

struct enroll_client_state enroll_client_stop(struct enroll_client *enroll_client)
{
    cancel_raise(&enroll_client->cancel);
    background_task_wait(&enroll_client->background_task);
    return (struct enroll_client_state){ enroll_client->is_pending, enroll_client->problem };
}

bool enroll_client_is_done(const struct enroll_client *enroll_client)
{
    return enroll_client->is_done;
}

bool enroll_client_is_untrusted(const struct enroll_client *enroll_client)
{
    return enroll_client->is_untrusted;
}

void enroll_client_free(struct enroll_client *enroll_client)
{
    if (!enroll_client)
        return;
    cancel_raise(&enroll_client->cancel);
    background_tasks_close(&enroll_client->background_tasks);
    cancel_done(&enroll_client->cancel);
    arena_done(&enroll_client->arena);
    free(enroll_client);
}
