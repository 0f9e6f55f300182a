#include "fleet/enroll/admission.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/base32.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/bus/identity.h"
#include "core/data/json.h"
#include "core/data/time_text.h"
#include "fleet/enroll/certificate.h"
#include "fleet/nats/nkey.h"
#include "fleet/nats/xkey.h"
#include "fleet/wire/peel_id.h"

#define RECORD_MAX     ((size_t)64 << 10)
#define TRUST_LABEL    "zester-enroll-trust-v1\0bind\0"
#define CURVE_PREFIX   (23 << 3) /* X */
#define CURVE_SIZE     35        /* prefix, key, checksum */
#define AUTH_SCHEME    "Nkey "
#define METADATA_WORDS "a map of texts"

/* --- answers ------------------------------------------------------------------------ */

static void add_answer_text(struct arena *arena, struct admission_answer *answer, const char *key,
                            const char *text)
{
    value_map_append(arena, answer->body.map, value_text(key), value_text(text));
}

static void begin_answer(struct arena *arena, enum admission_status status,
                         struct admission_answer *ret)
{
    *ret =
        (struct admission_answer){ .status = status, .body = value_map(value_map_new(arena, 4)) };
}

void admission_fail(struct arena *arena, enum admission_status status, const char *text,
                    struct admission_answer *ret)
{
    begin_answer(arena, status, ret);
    add_answer_text(arena, ret, "error", text);
}

static struct value_time split_time(int64_t ns)
{
    return (struct value_time){ ns / NUMBER_NS_PER_S, (uint32_t)(ns % NUMBER_NS_PER_S) };
}

static void add_answer_time(struct arena *arena, struct admission_answer *answer, const char *key,
                            struct value_time time)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    time_print(&text, time);
    add_answer_text(arena, answer, key, buf_copy(&text, arena).p);
}

static void add_bytes(struct arena *arena, struct admission_answer *answer, const char *key,
                      struct str bytes)
{
    AUTO_BUF struct buf text = BUF_INIT(RECORD_MAX);

    base64_encode(bytes, BASE64_STANDARD, &text);
    add_answer_text(arena, answer, key, buf_copy(&text, arena).p);
}

static void add_admission_change(struct admission_answer *answer, enum store_bucket bucket,
                                 const char *key, struct str value, uint64_t revision)
{
    answer->changes[answer->change_count++] =
        (struct admission_change){ bucket, key, value, revision };
}

static int add_record_change(struct arena *arena, struct admission_answer *answer,
                             enum store_bucket bucket, const char *key,
                             const struct record_type *type, const void *record, uint64_t revision)
{
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    struct err err;

    if (record_encode(&bytes, type, record, &err) < 0) {
        admission_fail(arena, ADMISSION_BROKEN, arena_strdup(arena, err.text), answer);
        return -1;
    }
    add_admission_change(answer, bucket, key, buf_copy(&bytes, arena), revision);
    return 0;
}

static void describe_record(struct arena *arena, const struct enrollment *record,
                            struct admission_answer *answer)
{
    add_answer_text(arena, answer, "id", record->id);
    add_answer_text(arena, answer, "peel_id", record->peel_id);
    add_answer_text(arena, answer, "state", enrollment_state_name(record->state));
}

/* --- what a request says -------------------------------------------------------------- */

static bool is_user_key(struct str text, struct nats_nkey *ret_key)
{
    struct err err;

    return nats_nkey_parse_public(text, ret_key, &err) == 0 && ret_key->kind == NATS_NKEY_USER;
}

static bool is_curve_key(const char *text)
{
    AUTO_BUF struct buf bytes = BUF_INIT(CURVE_SIZE);
    struct err err;

    return base32_decode(str_from(text), &bytes, &err) == 0 && bytes.n == CURVE_SIZE &&
           (unsigned char)bytes.p[0] == CURVE_PREFIX;
}

static bool is_metadata(const struct value *v)
{
    if (v->kind == VALUE_NULL)
        return true;
    if (v->map->count > ADMISSION_METADATA_MAX)
        return false;
    for (size_t i = 0; i < v->map->count; i++)
        if (v->map->pairs[i].key.kind != VALUE_STR || v->map->pairs[i].value.kind != VALUE_STR)
            return false;
    return true;
}

/* The mistake in its values; NULL: none. */
static const char *check_request(const struct admission_request *request)
{
    struct nats_nkey key;

    if (!peel_id_is_valid(str_from(request->peel_id)))
        return "peel_id is not valid";
    if (!is_user_key(str_from(request->public_key), &key))
        return "public_key is not a user's public key";
    if (!is_curve_key(request->curve_public_key))
        return "curve_public_key is not a curve key";
    if (strlen(request->hostname) > ADMISSION_HOSTNAME_MAX)
        return "hostname is too long";
    if (!is_metadata(&request->metadata))
        return "metadata is not " METADATA_WORDS ", or has too many";
    if (!request->trusted_ca_spki[0] != !request->trust_signature[0])
        return "trusted_ca_spki and trust_signature go together";
    if (request->trusted_ca_spki[0] && !certificate_is_pin(request->trusted_ca_spki))
        return "trusted_ca_spki is not sha256: and 64 digits";
    return NULL;
}

/* clang-format off */
#define ARGS struct admission_request
static const struct record_field request_fields[] = {
    RECORD("peel_id",          TEXT, ARGS, peel_id, RECORD_REQUIRED),
    RECORD("public_key",       TEXT, ARGS, public_key, RECORD_REQUIRED),
    RECORD("curve_public_key", TEXT, ARGS, curve_public_key, RECORD_REQUIRED),
    RECORD("hostname",         TEXT, ARGS, hostname, 0, .fallback_text = ""),
    RECORD("challenge_id",     TEXT, ARGS, challenge_id, RECORD_REQUIRED),
    RECORD("signature",        TEXT, ARGS, signature, RECORD_REQUIRED),
    RECORD("metadata",         MAP,  ARGS, metadata, 0),
    RECORD("trusted_ca_spki",  TEXT, ARGS, trusted_ca_spki, 0, .fallback_text = ""),
    RECORD("trust_signature",  TEXT, ARGS, trust_signature, 0, .fallback_text = ""),
    RECORD("renew",            BOOL, ARGS, renew, 0),
    RECORD("only_renew",       BOOL, ARGS, only_renew, 0),
    { 0 },
};
/* clang-format on */
static const struct record_type request_type = RECORD_TYPE("enrollment", ARGS, request_fields, 0);

bool admission_read(struct arena *arena, struct str body, struct admission_request *ret_request,
                    struct admission_answer *ret)
{
    const char *problem;
    struct value v;
    struct err err;

    if (body.n > ADMISSION_BODY_MAX) {
        admission_fail(arena, ADMISSION_MALFORMED, "the request is too large", ret);
        return false;
    }
    if (json_decode(arena, body, &v, &err) < 0 ||
        record_read(arena, &request_type, 1, &v, ret_request, &err) < 0)
        problem = arena_strdup(arena, err.text);
    else
        problem = check_request(ret_request);
    if (problem)
        admission_fail(arena, ADMISSION_MALFORMED, problem, ret);
    return !problem;
}

const char *admission_index_key(struct arena *arena, const char *peel_id)
{
    return arena_printf(arena, ADMISSION_INDEX "%s", peel_id);
}

/* --- nonce -------------------------------------------------------------------------- */

void admission_nonce(struct arena *arena, struct str peel_id, struct str public_key,
                     const struct admission_moment *moment, struct admission_answer *ret)
{
    const int64_t life = ADMISSION_CHALLENGE_SECONDS * NUMBER_NS_PER_S;
    const struct enrollment_challenge challenge = {
        .challenge_id = arena_printf(arena, ADMISSION_CHALLENGE_ID "%s", moment->ksuid),
        .challenge = str_bytes(moment->bytes, sizeof(moment->bytes)),
        .peel_id = arena_strndup(arena, peel_id.p, peel_id.n),
        .public_key = arena_strndup(arena, public_key.p, public_key.n),
        .issued_at = split_time(moment->now),
        .expires_at = split_time(moment->now + life),
    };
    struct nats_nkey key;

    if (!peel_id_is_valid(peel_id)) {
        admission_fail(arena, ADMISSION_MALFORMED, "peel_id is not valid", ret);
        return;
    }
    if (!is_user_key(public_key, &key)) {
        admission_fail(arena, ADMISSION_MALFORMED, "public_key is not a user's public key", ret);
        return;
    }
    begin_answer(arena, ADMISSION_OK, ret);
    add_answer_text(arena, ret, "challenge_id", challenge.challenge_id);
    add_bytes(arena, ret, "challenge", challenge.challenge);
    add_answer_time(arena, ret, "expires_at", challenge.expires_at);
    (void)add_record_change(arena, ret, STORE_ENROLL_CHALLENGES, challenge.challenge_id,
                            &enrollment_challenge_type, &challenge, 0);
}

/* --- submit ------------------------------------------------------------------------- */

static bool is_time_before(struct value_time a, struct value_time b)
{
    return a.seconds < b.seconds || (a.seconds == b.seconds && a.nanoseconds < b.nanoseconds);
}

/* Why a challenge does not count; NULL: it does. */
static const char *check_challenge(const struct enrollment_challenge *challenge,
                                   const struct admission_request *request, int64_t now)
{
    if (strcmp(challenge->challenge_id, request->challenge_id) != 0 ||
        challenge->challenge.n != ADMISSION_CHALLENGE_SIZE)
        return "unknown challenge";
    if (challenge->used)
        return "the challenge was used already";
    if (!is_time_before(split_time(now), challenge->expires_at))
        return "the challenge has expired";
    if (strcmp(challenge->peel_id, request->peel_id) != 0 ||
        strcmp(challenge->public_key, request->public_key) != 0)
        return "the challenge is for another peel or key";
    return NULL;
}

static bool verify_text_signature(const struct nats_nkey *key, struct str text,
                                  struct str signature, enum base64_form form)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ED25519_SIGNATURE_SIZE);
    struct err err;

    return base64_decode_strict(signature, form, &bytes, &err) == 0 &&
           bytes.n == ED25519_SIGNATURE_SIZE &&
           nats_nkey_verify(key, text, (const unsigned char *)bytes.p);
}

/* challenge | curve key, as text */
static bool has_answered(const struct nats_nkey *key, const struct admission_request *request,
                         struct str challenge)
{
    AUTO_BUF struct buf text = BUF_INIT(ADMISSION_BODY_MAX);

    buf_add_str(&text, challenge);
    buf_add_text(&text, request->curve_public_key);
    return verify_text_signature(key, buf_view(&text), str_from(request->signature),
                                 BASE64_STANDARD);
}

/* challenge | label | 0 | "bind" | 0 | pin */
static bool has_bound(const struct nats_nkey *key, const struct admission_request *request,
                      struct str challenge)
{
    AUTO_BUF struct buf text = BUF_INIT(ADMISSION_BODY_MAX);

    buf_add_str(&text, challenge);
    buf_add_str(&text, STR(TRUST_LABEL));
    buf_add_text(&text, request->trusted_ca_spki);
    return verify_text_signature(key, buf_view(&text), str_from(request->trust_signature),
                                 BASE64_STANDARD);
}

/* A binding by another key, or of another CA: possible man in the middle. */
static void judge_ca_binding(struct enrollment *record, const struct admission_request *request,
                             const struct nats_nkey *key, struct str challenge, const char *ca_pin)
{
    if (!request->trusted_ca_spki[0])
        return;
    record->trusted_ca_spki = request->trusted_ca_spki;
    record->trust_mismatch = !has_bound(key, request, challenge) ||
                             (ca_pin && strcmp(ca_pin, request->trusted_ca_spki) != 0);
    record->trust_checked = ca_pin || record->trust_mismatch;
}

/* The record that the index names. False: there is none that counts. */
static bool read_current(struct arena *arena, const struct admission_stored *stored,
                         struct enrollment *ret)
{
    struct err err;

    if (stored->index.revision == 0 || stored->record.revision == 0 ||
        record_decode(arena, &enrollment_type, 1, stored->record.value, ret, &err) < 0)
        return false;
    return str_eq_text(stored->index.value, ret->id);
}

/* Is the stored entry not an index, or not the record that the index names? It was damaged, and
 * must not give the name away. */
static bool is_stored_damaged(struct arena *arena, const struct admission_stored *stored)
{
    struct enrollment record;
    struct err err;

    if (stored->index.revision == 0)
        return false;
    if (!str_starts(stored->index.value, STR(ADMISSION_ID)))
        return true;
    return stored->record.revision != 0 &&
           (record_decode(arena, &enrollment_type, 1, stored->record.value, &record, &err) < 0 ||
            !str_eq_text(stored->index.value, record.id));
}

/* The last record of a name, and whether that has the name. */
struct held {
    bool is_there, is_held;
    bool is_stranger; /* the record makes way for this machine */
    struct enrollment record;
};

/* A request whose challenge counts and whose signature is good. */
struct answered {
    const struct admission_request *request;
    const struct admission_stored *stored;
    struct enrollment_challenge challenge;
    struct nats_nkey key;
};

/* No challenge is answered twice, whatever the result. */
static int use_challenge(struct arena *arena, const struct answered *answered,
                         struct admission_answer *ret)
{
    struct enrollment_challenge used = answered->challenge;

    used.used = true;
    return add_record_change(arena, ret, STORE_ENROLL_CHALLENGES, used.challenge_id,
                             &enrollment_challenge_type, &used,
                             answered->stored->challenge.revision);
}

static struct enrollment *new_record(struct arena *arena, const struct answered *answered,
                                     const struct admission_policy *policy,
                                     const struct admission_moment *moment)
{
    const struct admission_request *request = answered->request;
    struct enrollment *record = ARENA_NEW(arena, struct enrollment);

    *record = (struct enrollment){
        .id = arena_printf(arena, ADMISSION_ID "%s", moment->ksuid),
        .peel_id = request->peel_id,
        .public_key = request->public_key,
        .curve_public_key = request->curve_public_key,
        .state = ENROLLMENT_PENDING,
        .hostname = request->hostname,
        .metadata = request->metadata,
        .created_at = split_time(moment->now),
        .updated_at = split_time(moment->now),
        .decided_by = "",
        .reject_reason = "",
        .remote_addr = moment->remote_addr,
        .trusted_ca_spki = "",
        .issuer = "",
        .sponsor = moment->sponsor,
    };
    judge_ca_binding(record, request, &answered->key, answered->challenge.challenge,
                     policy->ca_pin);
    return record;
}

static bool is_stranger(const struct enrollment *record)
{
    return record->state == ENROLLMENT_PENDING && !record->sponsor[0];
}

/* The name was requested without a token. */
static int reject_stranger(struct arena *arena, const struct answered *answered,
                           const struct enrollment *stranger, const struct enrollment *record,
                           struct admission_answer *ret)
{
    struct enrollment *rejected = ARENA_NEW(arena, struct enrollment);

    *rejected = *stranger;
    rejected->state = ENROLLMENT_REJECTED;
    rejected->decided_by = record->sponsor;
    rejected->decided_at = rejected->updated_at = record->created_at;
    rejected->reject_reason = ADMISSION_REPLACED;
    ret->replaced = rejected;
    return add_record_change(arena, ret, STORE_ENROLLMENTS, rejected->id, &enrollment_type,
                             rejected, answered->stored->record.revision);
}

/* `stranger` is in its place; or NULL. */
static void create_record(struct arena *arena, const struct answered *answered,
                          const struct enrollment *stranger, const struct enrollment *record,
                          struct admission_answer *ret)
{
    begin_answer(arena, ADMISSION_CREATED, ret);
    describe_record(arena, record, ret);
    add_answer_text(arena, ret, "message",
                    record->state == ENROLLMENT_APPROVED ? "the credentials may be renewed"
                                                         : "enrollment is pending approval");
    if (use_challenge(arena, answered, ret) < 0 ||
        (stranger && reject_stranger(arena, answered, stranger, record, ret) < 0) ||
        add_record_change(arena, ret, STORE_ENROLLMENTS, record->id, &enrollment_type, record, 0) <
            0)
        return;
    add_admission_change(ret, STORE_ENROLLMENTS, admission_index_key(arena, record->peel_id),
                         str_from(record->id), answered->stored->index.revision);
    ret->created = record;
}

/* The same machine asks again while it waits. */
static void repeat_record(struct arena *arena, const struct answered *answered,
                          const struct enrollment *record, struct admission_answer *ret)
{
    begin_answer(arena, ADMISSION_OK, ret);
    describe_record(arena, record, ret);
    add_answer_text(arena, ret, "message", "enrollment is pending approval already");
    (void)use_challenge(arena, answered, ret);
}

/* Why a request does not count; NULL: it does. */
static const char *check_answer(struct arena *arena, struct answered *answered, int64_t now)
{
    const struct admission_entry *entry = &answered->stored->challenge;
    const char *problem;
    struct err err;

    if (entry->revision == 0 || record_decode(arena, &enrollment_challenge_type, 1, entry->value,
                                              &answered->challenge, &err) < 0)
        return "unknown challenge";
    problem = check_challenge(&answered->challenge, answered->request, now);
    if (problem)
        return problem;
    if (!is_user_key(str_from(answered->request->public_key), &answered->key) ||
        !has_answered(&answered->key, answered->request, answered->challenge.challenge))
        return "the signature does not match the challenge and the key";
    return NULL;
}

static int check_record_trust(const struct enrollment *record,
                              const struct admission_policy *policy, struct err *err)
{
    if (record->trust_mismatch)
        return err_set(err, ERR_INVALID,
                       "'%s': trust mismatch: the machine trusts another certificate authority, "
                       "somebody may stand between; approve with --force to accept that",
                       record->id);
    if (policy->ca_pin && !record->trusted_ca_spki[0])
        return err_set(err, ERR_INVALID,
                       "'%s': the machine did not say which certificate authority it trusts; "
                       "approve with --force to accept that",
                       record->id);
    return 0;
}

/* Has it credentials, or was it to get new ones and has not fetched them? */
static bool may_have_credentials(const struct enrollment *current)
{
    return current->state == ENROLLMENT_ISSUED || current->state == ENROLLMENT_ACTIVE ||
           (current->state == ENROLLMENT_APPROVED &&
            strcmp(current->decided_by, ADMISSION_RENEWAL) == 0);
}

/* The holder of an approved key is approved again. */
static bool may_renew(const struct admission_request *request, const struct enrollment *current,
                      const struct enrollment *record, const struct admission_policy *policy,
                      int64_t now)
{
    struct err err;

    return request->renew && may_have_credentials(current) &&
           current->expires_at.seconds > now / NUMBER_NS_PER_S &&
           strcmp(current->curve_public_key, request->curve_public_key) == 0 &&
           check_record_trust(record, policy, &err) == 0;
}

static const char *explain_pause(struct arena *arena, const char *reason)
{
    return arena_printf(arena, "enrollment is paused%s%s", reason[0] ? ": " : "", reason);
}

/* Its credentials must be later than earlier ones of the key, which a revocation counts by. */
static void follow_earlier(struct enrollment *record, const struct enrollment *earlier)
{
    if (earlier && strcmp(earlier->public_key, record->public_key) == 0)
        record->issue_after.seconds = enrollment_revoked_until(earlier);
}

static void replace_record(struct arena *arena, const struct answered *answered,
                           const struct held *held, const struct admission_policy *policy,
                           const struct admission_moment *moment, struct admission_answer *ret)
{
    struct enrollment *record = new_record(arena, answered, policy, moment);
    const struct enrollment *current = held->is_held ? &held->record : NULL;

    follow_earlier(record, held->is_there ? &held->record : NULL);
    if (current && may_renew(answered->request, current, record, policy, moment->now)) {
        record->state = ENROLLMENT_APPROVED;
        record->decided_by = ADMISSION_RENEWAL;
        record->decided_at = record->updated_at;
        record->expires_at = current->expires_at; /* of what it has until then */
        record->issuer = current->issuer;
    }
    if (answered->request->only_renew && record->state == ENROLLMENT_PENDING)
        admission_fail(arena, ADMISSION_REFUSED, "no credentials to renew", ret);
    else if (policy->pause && record->state == ENROLLMENT_PENDING)
        admission_fail(arena, ADMISSION_PAUSED, explain_pause(arena, policy->pause), ret);
    else if (moment->crowd && record->state == ENROLLMENT_PENDING && !record->sponsor[0])
        admission_fail(arena, ADMISSION_LIMITED, moment->crowd, ret);
    else
        create_record(arena, answered, held->is_stranger ? &held->record : NULL, record, ret);
}

/* Why, and what an operator can do about it. */
static const char *explain_taken(struct arena *arena, const struct enrollment *current)
{
    const bool is_pending = current->state == ENROLLMENT_PENDING;

    return arena_printf(arena,
                        "another key holds this peel id: if this machine is to replace the other, "
                        "'zester enroll %s --peel %s' on a master, otherwise give it another id",
                        is_pending ? "reject" : "revoke", peel_id_name(arena, current->peel_id));
}

void admission_submit(struct arena *arena, const struct admission_request *request,
                      const struct admission_stored *stored, const struct admission_policy *policy,
                      const struct admission_moment *moment, struct admission_answer *ret)
{
    struct answered answered = { .request = request, .stored = stored };
    const char *problem = check_answer(arena, &answered, moment->now);
    struct held held = { 0 };
    const struct enrollment *current = &held.record;

    if (problem) {
        admission_fail(arena, ADMISSION_UNSIGNED, problem, ret);
        return;
    }
    if (is_stored_damaged(arena, stored)) {
        admission_fail(arena, ADMISSION_BROKEN,
                       "the enrollment of this peel id cannot be read: try again when a master has "
                       "put it right, or after 'zester peel delete' when its log says that "
                       "the record is lost",
                       ret);
        return;
    }
    held.is_there = read_current(arena, stored, &held.record);
    held.is_held = held.is_there && !enrollment_state_is_final(current->state);
    if (held.is_held && strcmp(current->public_key, request->public_key) != 0 &&
        moment->sponsor[0] && is_stranger(current)) {
        held.is_stranger = true;
        held.is_held = false;
    }
    if (held.is_held && strcmp(current->public_key, request->public_key) != 0)
        admission_fail(arena, ADMISSION_TAKEN, explain_taken(arena, current), ret);
    else if (held.is_held && current->state == ENROLLMENT_PENDING && !request->only_renew)
        repeat_record(arena, &answered, current, ret);
    else
        replace_record(arena, &answered, &held, policy, moment, ret);
}

/* --- status ------------------------------------------------------------------------- */

/* False: `ret` is the answer. */
static bool read_admission_record(struct arena *arena, const struct admission_entry *entry,
                                  struct enrollment *ret_record, struct admission_answer *ret)
{
    struct err err;

    if (entry->revision == 0) {
        admission_fail(arena, ADMISSION_UNKNOWN, "unknown enrollment", ret);
        return false;
    }
    if (record_decode(arena, &enrollment_type, 1, entry->value, ret_record, &err) == 0 &&
        ret_record->id[0])
        return true;
    admission_fail(arena, ADMISSION_BROKEN, "the enrollment record cannot be read", ret);
    return false;
}

void admission_status(struct arena *arena, const struct admission_entry *entry,
                      struct admission_answer *ret)
{
    struct enrollment record;

    if (!read_admission_record(arena, entry, &record, ret))
        return;
    begin_answer(arena, ADMISSION_OK, ret);
    describe_record(arena, &record, ret);
    if (record.reject_reason[0])
        add_answer_text(arena, ret, "reason", record.reject_reason);
}

/* --- creds -------------------------------------------------------------------------- */

/* "Nkey <public key>:<signature of the id>" by the key of the record. */
static bool is_authorized(struct str header, const char *id, const struct enrollment *record)
{
    struct nats_nkey key;
    struct str rest, public_key;

    if (!str_starts(header, STR(AUTH_SCHEME)))
        return false;
    rest = str_trim(str_from_offset(header, strlen(AUTH_SCHEME)));
    public_key = str_cut(&rest, ':');
    return rest.p && str_eq_text(public_key, record->public_key) && is_user_key(public_key, &key) &&
           verify_text_signature(&key, str_from(id), rest, BASE64_URL);
}

/* Why there are no credentials in a state; NULL: there are. */
static const struct {
    enum admission_status status;
    const char *text;
} refusals[ENROLLMENT_STATES] = {
    [ENROLLMENT_PENDING] = { ADMISSION_REFUSED, "enrollment is not approved yet" },
    [ENROLLMENT_REJECTED] = { ADMISSION_REFUSED, "enrollment was rejected" },
    [ENROLLMENT_ISSUED] = { ADMISSION_TAKEN, "credentials were issued already; enroll again" },
    [ENROLLMENT_ACTIVE] = { ADMISSION_TAKEN, "credentials were issued already; enroll again" },
    [ENROLLMENT_REVOKED] = { ADMISSION_REFUSED, "enrollment was revoked" },
};

static const char *print_key_index(struct arena *arena, const struct nats_nkey *key)
{
    char text[NATS_NKEY_TEXT_SIZE];

    nats_nkey_print_public(key, text);
    return arena_strdup(arena, text);
}

/* "": the fleet's own account. */
static const char *name_issuer(struct arena *arena, const struct identity_issuer *issuer)
{
    if (issuer->signing)
        return print_key_index(arena, issuer->signing);
    return issuer->fleet ? print_key_index(arena, issuer->account) : "";
}

static void issue_credentials(struct arena *arena, const struct enrollment *record,
                              uint64_t revision, const struct admission_policy *policy, int64_t now,
                              struct admission_answer *ret)
{
    const struct identity_issuer *issuer = &policy->issuer;
    const int64_t earlier = record->issue_after.seconds;
    const int64_t seconds = now / NUMBER_NS_PER_S > earlier ? now / NUMBER_NS_PER_S : earlier + 1;
    struct enrollment issued = *record;
    char curve_text[NATS_NKEY_TEXT_SIZE];
    struct nats_xkey curve;
    const char *jwt;
    struct err err;

    if (identity_issue_peel(arena, issuer, record->peel_id, record->public_key, seconds, &jwt,
                            &err) < 0) {
        admission_fail(arena, ADMISSION_BROKEN, "credentials cannot be issued", ret);
        return;
    }
    issued.state = ENROLLMENT_ISSUED;
    issued.issuer = name_issuer(arena, issuer);
    issued.updated_at = split_time(now);
    issued.issued_at =
        seconds == now / NUMBER_NS_PER_S ? issued.updated_at : (struct value_time){ seconds, 0 };
    issued.expires_at = (struct value_time){ seconds + IDENTITY_PEEL_SECONDS, 0 };
    begin_answer(arena, ADMISSION_OK, ret);
    add_answer_text(arena, ret, "peel_id", record->peel_id);
    add_bytes(arena, ret, "creds_data", str_from(jwt));
    nats_xkey_of(issuer->fleet ? issuer->fleet : issuer->account, &curve);
    nats_xkey_print(&curve, curve_text);
    add_answer_text(arena, ret, "account_curve_key", arena_strdup(arena, curve_text));
    add_answer_time(arena, ret, "expires_at", issued.expires_at);
    (void)add_record_change(arena, ret, STORE_ENROLLMENTS, record->id, &enrollment_type, &issued,
                            revision);
}

void admission_creds(struct arena *arena, const struct admission_claim *claim,
                     const struct admission_policy *policy, const struct admission_moment *moment,
                     struct admission_answer *ret)
{
    struct enrollment record;

    if (!read_admission_record(arena, &claim->record, &record, ret))
        return;
    if (!is_authorized(claim->authorization, claim->id, &record))
        admission_fail(arena, ADMISSION_UNSIGNED, "the signature does not match the enrollment",
                       ret);
    else if (refusals[record.state].text)
        admission_fail(arena, refusals[record.state].status, refusals[record.state].text, ret);
    else if (claim->index.revision == 0 || !str_eq_text(claim->index.value, record.id))
        admission_fail(arena, ADMISSION_TAKEN, "a later enrollment has taken its place", ret);
    else
        issue_credentials(arena, &record, claim->record.revision, policy, moment->now, ret);
}

void admission_conflict(struct arena *arena, const struct admission_answer *answer, size_t number,
                        struct admission_answer *ret)
{
    const struct admission_change change = answer->changes[number];

    if (change.bucket == STORE_ENROLL_CHALLENGES)
        admission_fail(arena, ADMISSION_UNSIGNED, "the challenge was used already", ret);
    else
        admission_fail(arena, ADMISSION_TAKEN, "changed by another request; try again", ret);
}

/* --- decisions ---------------------------------------------------------------------- */

const char *admission_trust(const struct enrollment *record)
{
    if (record->trust_mismatch)
        return "MISMATCH!";
    if (!record->trusted_ca_spki[0])
        return "-";
    return record->trust_checked ? "ok" : "unverified";
}

static const struct {
    enum enrollment_state to;
    const char *word;
} decisions[] = {
    [ADMISSION_APPROVE] = { ENROLLMENT_APPROVED, "approved" },
    [ADMISSION_REJECT] = { ENROLLMENT_REJECTED, "rejected" },
    [ADMISSION_REVOKE] = { ENROLLMENT_REVOKED, "revoked" },
    [ADMISSION_ACTIVATE] = { ENROLLMENT_ACTIVE, "active" },
};

int admission_decide(enum admission_decision decision, const struct enrollment *record,
                     const struct enrollment_request *request,
                     const struct admission_policy *policy, int64_t now,
                     struct enrollment *ret_record, struct err *err)
{
    enum enrollment_state to = decisions[decision].to;

    if (decision == ADMISSION_REVOKE && record->state == to) {
        *ret_record = *record; /* again: an operator who was not sure that it arrived */
        return 0;
    }
    if (!enrollment_may_follow(record->state, to))
        return err_set(err, ERR_INVALID, "'%s' is %s: it cannot be %s", record->id,
                       enrollment_state_name(record->state), decisions[decision].word);
    if (strlen(request->reason) > ADMISSION_REASON_MAX)
        return err_set(err, ERR_LIMIT, "the reason is longer than %d bytes", ADMISSION_REASON_MAX);
    if (decision == ADMISSION_APPROVE && !request->force &&
        check_record_trust(record, policy, err) < 0)
        return -1;
    *ret_record = *record;
    ret_record->state = to;
    ret_record->updated_at = split_time(now);
    if (decision == ADMISSION_ACTIVATE)
        return 0;
    ret_record->decided_by = request->operator_name;
    ret_record->decided_at = ret_record->updated_at;
    if (decision != ADMISSION_APPROVE)
        ret_record->reject_reason = request->reason;
    return 0;
}
