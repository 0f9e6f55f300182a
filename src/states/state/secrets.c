/*
 * All secret bytes of a text are marked before any is replaced, so that nested and overlapping
 * secrets leave no rest.
 */
#include "states/state/secrets.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/unescape.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

/* Shorter parts of base64 are not searched: they would match unrelated text. */
#define PART_SHORTEST 6

/* Maximum nesting; documents are never that deep. */
#define DEPTH_MAX 200

#define BIT(form) (1U << (form))

struct secret {
    char *p;
    size_t n;
    unsigned forms; /* the BITs of those that may write it otherwise than it is */
};

struct secrets {
    pthread_rwlock_t lock;
    atomic_size_t count; /* read without the lock: usually 0 */
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

static struct str view_secret(const struct secret *secret)
{
    return (struct str){ secret->p, secret->n };
}

static bool has_secret_text(const struct secrets *secrets, struct str text)
{
    VEC_EACH (&secrets->list, secret)
        if (str_eq(view_secret(secret), text))
            return true;
    return false;
}

static bool is_base64(struct str text)
{
    static const char others[] = "+/-_=";

    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]) && !memchr(others, text.p[i], sizeof(others) - 1))
            return false;
    return true;
}

/* Long texts are read in each form, so a form without effect on a secret is not tried. */
static unsigned find_forms(struct str text)
{
    static const struct {
        char character;
        unsigned forms;
    } needs[] = {
        { '\'', BIT(UNESCAPE_APOSTROPHES) | BIT(UNESCAPE_SHELL) },
        { '"', BIT(UNESCAPE_QUOTES) },
        { ' ', BIT(UNESCAPE_FOLDED) },
    };
    unsigned forms = BIT(UNESCAPE_CHARACTERS) | BIT(UNESCAPE_BYTES) | BIT(UNESCAPE_URL) |
                     BIT(UNESCAPE_FORM) | BIT(UNESCAPE_ENTITIES);

    for (size_t i = 0; i < ARRAY_LEN(needs); i++)
        if (str_find_char(text, needs[i].character, 0) != STR_NONE)
            forms |= needs[i].forms;
    if (is_base64(text))
        forms |= BIT(UNESCAPE_WRAPPED) | BIT(UNESCAPE_DIFFERENCE);
    return forms;
}

static void add_one(struct secrets *secrets, struct str text)
{
    struct secret secret = { NULL, text.n, find_forms(text) };

    if (text.n < SECRETS_SHORTEST || has_secret_text(secrets, text))
        return;
    secret.p = mem_alloc(text.n);
    memcpy(secret.p, text.p, text.n);
    VEC_PUSH(&secrets->list, secret);
    atomic_store(&secrets->count, secrets->list.n);
}

/* Add the base64 letters that do not depend on the surrounding bytes, with `before` bytes in front.
 *  */
static void add_encoded_part(struct secrets *secrets, struct str text, size_t before,
                             enum base64_form form)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT), out = BUF_INIT(BUF_NO_LIMIT);
    const size_t first = (before * 8 + 5) / 6, last = (before + text.n) * 8 / 6;

    for (size_t i = 0; i < before; i++)
        buf_add_char(&bytes, ' ');
    buf_add_str(&bytes, text);
    base64_encode(buf_view(&bytes), form, &out);
    add_one(secrets, str_slice(buf_view(&out), first, last - first));
    explicit_bzero(bytes.p, bytes.n);
    explicit_bzero(out.p, out.n);
}

/* Many programs store passwords in base64, alone or after a user name. */
static void add_encoded(struct secrets *secrets, struct str text)
{
    static const enum base64_form alphabets[] = { BASE64_STANDARD, BASE64_URL };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (text.n < SECRETS_SHORTEST)
        return;
    base64_encode(text, BASE64_STANDARD, &out);
    add_one(secrets, buf_view(&out));
    explicit_bzero(out.p, out.n);
    for (size_t i = 0; text.n >= PART_SHORTEST && i < ARRAY_LEN(alphabets); i++)
        for (size_t before = 0; before < 3; before++)
            add_encoded_part(secrets, text, before, alphabets[i]);
}

/* The results of the template filters upper and lower. */
static void add_converted(struct secrets *secrets, struct str text)
{
    AUTO_BUF struct buf upper = BUF_INIT(BUF_NO_LIMIT), lower = BUF_INIT(BUF_NO_LIMIT);
    struct buf *const all[] = { &upper, &lower };

    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];

        buf_add_char(&upper, (char)(c < 0x80 ? toupper(c) : c));
        buf_add_char(&lower, (char)(c < 0x80 ? tolower(c) : c));
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
    add_one(secrets, str_trim(text)); /* the last newline is often lost */
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

/* Add marked parts at any depth. */
static bool add_marked_secrets(struct secrets *secrets, const struct value *v, unsigned depth)
{
    bool any = v->flags & VALUE_SECRET;

    if (any)
        add_deep(secrets, v, depth);
    if (any || depth > DEPTH_MAX)
        return any;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        any |= add_marked_secrets(secrets, &v->list->items[i], depth + 1);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        any |= add_marked_secrets(secrets, &v->map->pairs[i].value, depth + 1);
    return any;
}

void secrets_add_marked(struct secrets *secrets, const struct value *v)
{
    if (secrets)
        (void)add_marked_secrets(secrets, v, 0);
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

        any |= add_marked_secrets(secrets, &pair->value, 0);
        if (param && param->flags & PARAM_SECRET) {
            add_deep(secrets, &pair->value, 0);
            any = true;
        }
    }
    return any;
}

/* --- hiding ------------------------------------------------------------------- */

/* The bytes of a text that belong to a secret in any form. */
struct hiding {
    const struct secrets *secrets;
    size_t size;
    char *hidden; /* one for each byte; NULL: none is hidden */
};

/* One layer of unescaping: maps its offsets to those of the layer before. */
struct unescaped_layer {
    const struct unescaped *text;
    const struct unescaped_layer *of; /* that was read itself; NULL: the given one */
    unsigned forms;                   /* the BITs of all of them */
};

/* The bytes [first, end) of what was read, in the given text. */
static struct unescape_span find_origin(const struct unescaped_layer *layer,
                                        struct unescape_span span)
{
    for (; layer; layer = layer->of)
        span = (struct unescape_span){ layer->text->spans[span.first].first,
                                       layer->text->spans[span.end - 1].end };
    return span;
}

static void hide_secret(struct hiding *hiding, const struct secret *secret, struct str text,
                        const struct unescaped_layer *layer)
{
    for (size_t at = str_find(text, view_secret(secret), 0); at != STR_NONE;
         at = str_find(text, view_secret(secret), at + 1)) {
        const struct unescape_span span =
            find_origin(layer, (struct unescape_span){ at, at + secret->n });

        if (!hiding->hidden)
            hiding->hidden = mem_zalloc(hiding->size);
        memset(hiding->hidden + span.first, 1, span.end - span.first);
    }
}

/* A NULL layer: `text` is the given one. */
static void hide_found(struct hiding *hiding, struct str text, const struct unescaped_layer *layer)
{
    VEC_EACH (&hiding->secrets->list, secret)
        if (!layer || (layer->forms & ~secret->forms) == 0)
            hide_secret(hiding, secret, text, layer);
}

/* Each form may contain itself and the forms that are often put into it. */
static const unsigned contained[UNESCAPE_FORMS] = {
    [UNESCAPE_CHARACTERS] = BIT(UNESCAPE_CHARACTERS) | BIT(UNESCAPE_FOLDED) | BIT(UNESCAPE_WRAPPED),
    [UNESCAPE_BYTES] = BIT(UNESCAPE_BYTES) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_APOSTROPHES] = BIT(UNESCAPE_APOSTROPHES) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_QUOTES] = BIT(UNESCAPE_QUOTES) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_SHELL] = BIT(UNESCAPE_SHELL) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_URL] = BIT(UNESCAPE_URL) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_FORM] = BIT(UNESCAPE_FORM) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_ENTITIES] = BIT(UNESCAPE_ENTITIES) | BIT(UNESCAPE_CHARACTERS),
    [UNESCAPE_FOLDED] = BIT(UNESCAPE_APOSTROPHES),
};

/* JSON may be in JSON, or in a URL. */
static void hide_contained(struct hiding *hiding, struct str text, enum unescape_form form,
                           const struct unescaped_layer *of)
{
    struct unescaped inner;

    if (!unescape(&inner, form, text))
        return;
    hide_found(hiding, buf_view(&inner.text),
               &(struct unescaped_layer){ &inner, of, of->forms | BIT(form) });
    unescape_done(&inner);
}

static void hide_escaped(struct hiding *hiding, struct str text, enum unescape_form form)
{
    struct unescaped outer;

    if (!unescape(&outer, form, text))
        return;
    const struct unescaped_layer layer = { &outer, NULL, BIT(form) };

    hide_found(hiding, buf_view(&outer.text), &layer);
    for (enum unescape_form inner = 0; inner < UNESCAPE_FORMS; inner++)
        if (contained[form] & BIT(inner))
            hide_contained(hiding, buf_view(&outer.text), inner, &layer);
    unescape_done(&outer);
}

static void mask_hidden(struct buf *text, const char *hidden)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < text->n; i++) {
        if (!hidden[i])
            buf_add_char(&out, text->p[i]);
        else if (i == 0 || !hidden[i - 1])
            buf_add_text(&out, SECRETS_MASK);
    }
    buf_clear(text);
    if (out.n > text->max)
        buf_cut(&out, text->max);
    buf_add_str(text, buf_view(&out));
}

void secrets_mask(struct secrets *secrets, struct buf *text)
{
    struct hiding hiding = { secrets, text->n, NULL };

    if (!secrets || atomic_load(&secrets->count) == 0 || text->n == 0)
        return;
    (void)pthread_rwlock_rdlock(&secrets->lock);
    hide_found(&hiding, buf_view(text), NULL);
    for (enum unescape_form form = 0; form < UNESCAPE_FORMS; form++)
        hide_escaped(&hiding, buf_view(text), form);
    (void)pthread_rwlock_unlock(&secrets->lock);
    if (hiding.hidden)
        mask_hidden(text, hiding.hidden);
    free(hiding.hidden);
}

struct str secrets_masked(struct secrets *secrets, struct arena *arena, struct str text)
{
    AUTO_BUF struct buf copy = BUF_INIT(BUF_NO_LIMIT);

    if (!secrets || atomic_load(&secrets->count) == 0 || text.n == 0)
        return text;
    buf_add_str(&copy, text);
    secrets_mask(secrets, &copy);
    return str_eq(buf_view(&copy), text) ? text : buf_copy(&copy, arena);
}

/* A non-empty value; its text may be too short to be masked. */
static bool is_shown_whole(const struct value *v)
{
    return v->kind != VALUE_LIST && v->kind != VALUE_MAP && v->kind != VALUE_NULL;
}

static void mask_within(struct secrets *secrets, struct arena *arena, struct value *v,
                        unsigned depth)
{
    if (depth > DEPTH_MAX || ((v->flags & VALUE_SECRET) && is_shown_whole(v)))
        *v = value_text(SECRETS_MASK);
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        v->s = secrets_masked(secrets, arena, v->s);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        mask_within(secrets, arena, &v->list->items[i], depth + 1);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        mask_within(secrets, arena, &v->map->pairs[i].value, depth + 1);
}

/* Keys that become equal are one. */
static struct value_map *mask_keys(struct secrets *secrets, struct arena *arena,
                                   const struct value_map *map)
{
    struct value_map *masked = value_map_new(arena, map->count);

    masked->ordered = map->ordered;
    for (size_t i = 0; i < map->count; i++) {
        struct value key = map->pairs[i].key;

        if (key.kind == VALUE_STR)
            key.s = secrets_masked(secrets, arena, key.s);
        value_map_set(arena, masked, key, map->pairs[i].value);
    }
    return masked;
}

static void mask_keys_within(struct secrets *secrets, struct arena *arena, struct value *v)
{
    if (v->kind == VALUE_MAP)
        v->map = mask_keys(secrets, arena, v->map);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        mask_keys_within(secrets, arena, &v->list->items[i]);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        mask_keys_within(secrets, arena, &v->map->pairs[i].value);
}

void secrets_mask_answer(struct secrets *secrets, struct arena *arena, struct value *v)
{
    mask_within(secrets, arena, v, 0); /* which also bounds the depth */
    mask_keys_within(secrets, arena, v);
}

void secrets_mask_value(struct secrets *secrets, struct arena *arena, struct value *v)
{
    mask_within(secrets, arena, v, 0);
}
