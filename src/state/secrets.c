/*
 * The list is sorted by length, longest first, so that a secret inside another
 * does not leave the rest of the longer one readable.
 */
#include "state/secrets.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/vec.h"
#include "data/params.h"
#include "data/value.h"

/* Lists and maps inside one another; documents are never as deep. */
#define DEPTH_MAX 200

struct secret {
    char *p;
    size_t n;
};

struct secrets {
    pthread_rwlock_t lock;
    atomic_size_t count; /* read without the lock: mostly there is none */
    VEC(struct secret) list;
};

struct secrets *secrets_new(void)
{
    struct secrets *secrets = mem_zalloc(sizeof(*secrets));

    (void)pthread_rwlock_init(&secrets->lock, NULL);
    return secrets;
}

void secrets_free(struct secrets *secrets)
{
    if (!secrets)
        return;
    VEC_EACH (&secrets->list, secret) {
        explicit_bzero(secret->p, secret->n);
        free(secret->p);
    }
    vec_done(&secrets->list);
    (void)pthread_rwlock_destroy(&secrets->lock);
    free(secrets);
}

/* --- learning ----------------------------------------------------------------- */

static struct str view(const struct secret *secret)
{
    return (struct str){ secret->p, secret->n };
}

/* Where a text of `n` bytes belongs; `ret_there` when it is in the list already. */
static size_t place_of(const struct secrets *secrets, struct str text, bool *ret_there)
{
    size_t at = 0;

    *ret_there = false;
    while (at < secrets->list.n && secrets->list.p[at].n >= text.n) {
        if (str_eq(view(&secrets->list.p[at]), text))
            *ret_there = true;
        at++;
    }
    return at;
}

static void add_one(struct secrets *secrets, struct str text)
{
    struct secret secret = { NULL, text.n };
    bool there;
    size_t at = place_of(secrets, text, &there);

    if (there || text.n < SECRETS_SHORTEST)
        return;
    secret.p = mem_alloc(text.n);
    memcpy(secret.p, text.p, text.n);
    VEC_PUSH(&secrets->list, secret);
    memmove(secrets->list.p + at + 1, secrets->list.p + at,
            (secrets->list.n - 1 - at) * sizeof(secret));
    secrets->list.p[at] = secret;
    atomic_store(&secrets->count, secrets->list.n);
}

/* Files of many programs contain passwords like this. */
static void add_encoded(struct secrets *secrets, struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (text.n < SECRETS_SHORTEST)
        return;
    base64_encode(text, BASE64_STANDARD, &out);
    add_one(secrets, buf_view(&out));
    explicit_bzero(out.p, out.n);
}

/* What filters of templates make of it: upper, lower, urlencode. */
static void add_converted(struct secrets *secrets, struct str text)
{
    AUTO_BUF struct buf upper = BUF_INIT(BUF_NO_LIMIT), lower = BUF_INIT(BUF_NO_LIMIT),
                        url = BUF_INIT(BUF_NO_LIMIT);
    struct buf *const all[] = { &upper, &lower, &url };

    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];

        buf_add_char(&upper, (char)(c < 0x80 ? toupper(c) : c));
        buf_add_char(&lower, (char)(c < 0x80 ? tolower(c) : c));
        if (c < 0x80 && (isalnum(c) || strchr("_.-~/", c)))
            buf_add_char(&url, (char)c);
        else
            buf_printf(&url, "%%%02X", (unsigned)c);
    }
    for (size_t i = 0; text.n > 0 && i < ARRAY_LEN(all); i++) {
        add_one(secrets, buf_view(all[i]));
        explicit_bzero(all[i]->p, all[i]->n);
    }
}

void secrets_add(struct secrets *secrets, struct str text)
{
    if (!secrets || !text.p)
        return;
    (void)pthread_rwlock_wrlock(&secrets->lock);
    add_one(secrets, text);
    add_one(secrets, str_trim(text)); /* a last line end is often lost on the way */
    add_encoded(secrets, text);
    if (text.n >= SECRETS_SHORTEST)
        add_converted(secrets, str_trim(text));
    if (str_find_char(text, '\n', 0) != STR_NONE)
        for (struct str rest = text; rest.p;)
            add_one(secrets, str_trim(str_cut(&rest, '\n')));
    (void)pthread_rwlock_unlock(&secrets->lock);
}

static void add_deep(struct secrets *secrets, const struct value *v, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return;
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        secrets_add(secrets, v->s);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        add_deep(secrets, &v->list->items[i], depth + 1);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        add_deep(secrets, &v->map->pairs[i].value, depth + 1);
}

void secrets_add_value(struct secrets *secrets, const struct value *v)
{
    if (secrets)
        add_deep(secrets, v, 0);
}

/* The parts that are marked, wherever they are. */
static bool add_marked(struct secrets *secrets, const struct value *v, unsigned depth)
{
    bool any = v->flags & VALUE_SECRET;

    if (any)
        add_deep(secrets, v, depth);
    if (any || depth > DEPTH_MAX)
        return any;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        any |= add_marked(secrets, &v->list->items[i], depth + 1);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        any |= add_marked(secrets, &v->map->pairs[i].value, depth + 1);
    return any;
}

void secrets_add_marked(struct secrets *secrets, const struct value *v)
{
    if (secrets)
        (void)add_marked(secrets, v, 0);
}

bool secrets_add_body(struct secrets *secrets, const struct param *params, const struct value *body)
{
    bool any = false;

    if (!secrets || body->kind != VALUE_MAP)
        return false;
    for (size_t i = 0; i < body->map->count; i++) {
        const struct value_pair *pair = &body->map->pairs[i];
        const struct param *param =
            pair->key.kind == VALUE_STR ? params_find(params, pair->key.s) : NULL;

        any |= add_marked(secrets, &pair->value, 0);
        if (param && param->flags & PARAM_SECRET) {
            add_deep(secrets, &pair->value, 0);
            any = true;
        }
    }
    return any;
}

/* --- hiding ------------------------------------------------------------------- */

static bool has_any(const struct secrets *secrets, struct str text)
{
    VEC_EACH (&secrets->list, secret)
        if (str_find(text, view(secret), 0) != STR_NONE)
            return true;
    return false;
}

static void mask_one(struct buf *text, struct str secret)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str all = buf_view(text);
    size_t from = 0, at = str_find(all, secret, 0);

    if (at == STR_NONE)
        return;
    for (; at != STR_NONE; at = str_find(all, secret, from)) {
        buf_add_str(&out, str_slice(all, from, at - from));
        buf_add_text(&out, SECRETS_MASK);
        from = at + secret.n;
    }
    buf_add_str(&out, str_from_offset(all, from));
    buf_clear(text);
    if (out.n > text->max)
        buf_cut(&out, text->max);
    buf_add_str(text, buf_view(&out));
}

void secrets_mask(struct secrets *secrets, struct buf *text)
{
    if (!secrets || atomic_load(&secrets->count) == 0 || text->n == 0)
        return;
    (void)pthread_rwlock_rdlock(&secrets->lock);
    VEC_EACH (&secrets->list, secret)
        mask_one(text, view(secret));
    (void)pthread_rwlock_unlock(&secrets->lock);
}

struct str secrets_masked(struct secrets *secrets, struct arena *arena, struct str text)
{
    AUTO_BUF struct buf copy = BUF_INIT(BUF_NO_LIMIT);
    bool any;

    if (!secrets || atomic_load(&secrets->count) == 0 || text.n == 0)
        return text;
    (void)pthread_rwlock_rdlock(&secrets->lock);
    any = has_any(secrets, text);
    (void)pthread_rwlock_unlock(&secrets->lock);
    if (!any)
        return text;
    buf_add_str(&copy, text);
    secrets_mask(secrets, &copy);
    return buf_copy(&copy, arena);
}

static void mask_within(struct secrets *secrets, struct arena *arena, struct value *v,
                        unsigned depth)
{
    if (depth > DEPTH_MAX)
        *v = value_text(SECRETS_MASK);
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        v->s = secrets_masked(secrets, arena, v->s);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        mask_within(secrets, arena, &v->list->items[i], depth + 1);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        mask_within(secrets, arena, &v->map->pairs[i].value, depth + 1);
}

void secrets_mask_value(struct secrets *secrets, struct arena *arena, struct value *v)
{
    mask_within(secrets, arena, v, 0);
}
