/*
 * A pattern is expanded over its braces, then cut into tokens. Matching walks the
 * path once and keeps the set of tokens that it may stand before.
 */
#include "config/pathglob.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

enum token_kind {
    TOKEN_CHAR,
    TOKEN_ANY,   /* ? */
    TOKEN_SET,   /* [...] */
    TOKEN_STAR,  /* * */
    TOKEN_DEEP,  /* ** */
    TOKEN_PARTS, /* a part that is ** and the slash behind it */
};

struct token {
    enum token_kind kind;
    uint32_t c;
    struct str set; /* what is between the brackets */
};

struct pathglob {
    bool excludes;
    struct token *tokens;
    size_t count;
};

/* --- tokens ------------------------------------------------------------------------------ */

static bool is_any_of(struct str set, uint32_t c)
{
    bool negated = set.n > 0 && (set.p[0] == '!' || set.p[0] == '^'), found = false;

    if (negated)
        set = str_from_offset(set, 1);
    while (set.n > 0) {
        uint32_t first = utf8_next(&set), last = first;

        if (set.n > 1 && set.p[0] == '-') {
            set = str_from_offset(set, 1);
            last = utf8_next(&set);
        }
        found = found || (c >= first && c <= last);
    }
    return found != negated;
}

/* The bytes of "[...]" at the beginning; 0: the bracket means itself. */
static size_t set_length(struct str text)
{
    size_t at = 1;

    if (at < text.n && (text.p[at] == '!' || text.p[at] == '^'))
        at++;
    if (at < text.n && text.p[at] == ']')
        at++;
    at = str_find_char(text, ']', at);
    return at == STR_NONE ? 0 : at + 1;
}

static struct token next_token(struct str *rest, bool at_part)
{
    struct token token = { .kind = TOKEN_CHAR };
    size_t set = rest->p[0] == '[' ? set_length(*rest) : 0;
    size_t used = 1;

    if (str_starts(*rest, STR("**"))) {
        while (used < rest->n && rest->p[used] == '*')
            used++;
        token.kind = TOKEN_DEEP;
        if (at_part && used < rest->n && rest->p[used] == '/') {
            token.kind = TOKEN_PARTS;
            used++;
        }
    } else if (rest->p[0] == '*') {
        token.kind = TOKEN_STAR;
    } else if (rest->p[0] == '?') {
        token.kind = TOKEN_ANY;
    } else if (set > 0) {
        token.kind = TOKEN_SET;
        token.set = str_slice(*rest, 1, set - 2);
        used = set;
    } else {
        token.c = utf8_next(rest);
        return token;
    }
    *rest = str_from_offset(*rest, used);
    return token;
}

static struct pathglob *compile(struct arena *arena, struct str folder, struct str pattern)
{
    struct pathglob *glob = ARENA_NEW(arena, struct pathglob);
    bool at_part = true;

    glob->tokens = ARENA_ARRAY(arena, struct token, folder.n + pattern.n + 1);
    while (folder.n > 0)
        glob->tokens[glob->count++].c = utf8_next(&folder);
    while (pattern.n > 0) {
        struct token *token = &glob->tokens[glob->count++];

        *token = next_token(&pattern, at_part);
        at_part = token->kind == TOKEN_PARTS || (token->kind == TOKEN_CHAR && token->c == '/');
    }
    return glob;
}

/* --- braces ------------------------------------------------------------------------------- */

struct choices {
    struct arena *arena;
    VEC(struct str) list; /* also the queue of what is still to be expanded */
};

/* Where the brace at `open` is closed, or STR_NONE. */
static size_t find_close(struct str text, size_t open)
{
    size_t depth = 0;

    for (size_t at = open; at < text.n; at++) {
        if (text.p[at] == '{')
            depth++;
        if (text.p[at] == '}' && --depth == 0)
            return at;
    }
    return STR_NONE;
}

/* Put one choice of a brace in its place, and queue the result. */
static int add_choice(struct choices *choices, struct str text, size_t open, size_t close,
                      struct str choice, struct err *err)
{
    const char *whole =
        arena_printf(choices->arena, "%.*s%.*s%.*s", STR_ARG(str_slice(text, 0, open)),
                     STR_ARG(choice), STR_ARG(str_from_offset(text, close + 1)));

    if (choices->list.n >= PATHGLOB_CHOICES_MAX)
        return err_set(err, ERR_LIMIT, "its braces mean more than %d patterns",
                       PATHGLOB_CHOICES_MAX);
    VEC_PUSH_IN(choices->arena, &choices->list, str_from(whole));
    return 0;
}

static int split_brace(struct choices *choices, struct str text, size_t open, struct err *err)
{
    size_t close = find_close(text, open), begin = open + 1, depth = 0;

    if (close == STR_NONE)
        return err_set(err, ERR_INVALID, "a brace is not closed");
    for (size_t at = begin; at <= close; at++) {
        if (text.p[at] == '{')
            depth++;
        else if (text.p[at] == '}' && at < close)
            depth--;
        if (at == close || (text.p[at] == ',' && depth == 0)) {
            if (add_choice(choices, text, open, close, str_slice(text, begin, at - begin), err) < 0)
                return -1;
            begin = at + 1;
        }
    }
    return 0;
}

/* --- roots ---------------------------------------------------------------------------------- */

/* The longest folder in front of anything that is a pattern. */
static void add_root(struct pathglob_set *set, struct str folder, struct str pattern)
{
    size_t end = pattern.n, slash;
    const char *root;

    for (size_t i = 0; i < pattern.n && end == pattern.n; i++)
        if (strchr("*?[", pattern.p[i]))
            end = i;
    slash = end;
    while (slash > 0 && pattern.p[slash - 1] != '/')
        slash--;
    while (slash > 1 && pattern.p[slash - 1] == '/')
        slash--;
    root = arena_printf(set->arena, "%.*s%.*s", STR_ARG(folder),
                        STR_ARG(str_slice(pattern, 0, slash)));
    if (folder.n > 1 && slash == 0)
        root = arena_strndup(set->arena, folder.p, folder.n - 1);
    VEC_EACH (&set->roots, known)
        if (strcmp(*known, root) == 0)
            return;
    VEC_PUSH_IN(set->arena, &set->roots, root);
}

/* --- dots ----------------------------------------------------------------------------------- */

/* The folder above one that ends in '/'; of the root it is the root. */
static struct str parent_of(struct str folder)
{
    size_t n = folder.n > 0 ? folder.n - 1 : 0;

    while (n > 0 && folder.p[n - 1] != '/')
        n--;
    return n > 0 ? str_slice(folder, 0, n) : folder;
}

/* Take '.', '..' and empty parts out of a pattern, as paths of files have none; '..' in front means
 * the folder above. */
static struct str without_dots(struct arena *arena, struct str *folder, struct str pattern)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    VEC(struct str) parts = VEC_INIT;
    struct str rest = pattern;

    while (rest.p) {
        struct str part = str_cut(&rest, '/');

        if (part.n == 0 || str_is(part, "."))
            continue;
        if (!str_is(part, ".."))
            VEC_PUSH_IN(arena, &parts, part);
        else if (parts.n > 0)
            parts.n--;
        else
            *folder = parent_of(*folder);
    }
    for (size_t i = 0; i < parts.n; i++)
        buf_printf(&out, "%s%.*s", i > 0 || pattern.p[0] == '/' ? "/" : "", STR_ARG(parts.p[i]));
    return buf_copy(&out, arena);
}

/* --- public ---------------------------------------------------------------------------------- */

static int expand(struct pathglob_set *set, struct str folder, struct str pattern, bool excludes,
                  struct err *err)
{
    struct choices choices = { .arena = set->arena };

    VEC_PUSH_IN(set->arena, &choices.list, pattern);
    for (size_t i = 0; i < choices.list.n; i++) {
        struct str text = choices.list.p[i], base;
        size_t open = str_find_char(text, '{', 0);
        struct pathglob *glob;

        if (open != STR_NONE) {
            if (split_brace(&choices, text, open, err) < 0)
                return -1;
            continue;
        }
        base = folder;
        text = without_dots(set->arena, &base, text);
        glob = compile(set->arena, base, text);
        glob->excludes = excludes;
        VEC_PUSH_IN(set->arena, &set->globs, glob);
        if (!excludes)
            add_root(set, base, text);
    }
    return 0;
}

int pathglob_add(struct pathglob_set *set, const char *folder, struct str pattern, struct err *err)
{
    struct str given = pattern, base = { "", 0 };
    bool excludes = pattern.n > 0 && pattern.p[0] == '!';

    if (excludes)
        pattern = str_from_offset(pattern, 1);
    if (pattern.n == 0)
        return err_set(err, ERR_INVALID, "watch '%.*s': the pattern is empty", STR_ARG(given));
    if (pattern.n > PATHGLOB_LENGTH_MAX)
        return err_set(err, ERR_LIMIT, "watch a pattern: it is longer than %d bytes",
                       PATHGLOB_LENGTH_MAX);
    if (pattern.p[0] != '/') {
        bool slash = folder[0] && folder[strlen(folder) - 1] == '/';

        base = str_from(arena_printf(set->arena, "%s%s", folder, slash ? "" : "/"));
    }
    if (expand(set, base, pattern, excludes, err) < 0)
        return err_wrap(err, "watch '%.*s'", STR_ARG(given));
    return 0;
}

/* Stand before token `at`; whatever may match nothing lets the next one in too. */
static void enter(const struct pathglob *glob, bool *places, size_t at)
{
    while (!places[at]) {
        places[at] = true;
        if (at == glob->count || glob->tokens[at].kind < TOKEN_STAR)
            return;
        at++;
    }
}

static void step(const struct pathglob *glob, size_t at, uint32_t c, bool *next)
{
    const struct token *token = &glob->tokens[at];

    switch (token->kind) {
    case TOKEN_CHAR:
        if (token->c == c)
            enter(glob, next, at + 1);
        break;
    case TOKEN_ANY:
        if (c != '/')
            enter(glob, next, at + 1);
        break;
    case TOKEN_SET:
        if (c != '/' && is_any_of(token->set, c))
            enter(glob, next, at + 1);
        break;
    case TOKEN_STAR:
        if (c != '/')
            enter(glob, next, at);
        break;
    case TOKEN_DEEP: enter(glob, next, at); break;
    case TOKEN_PARTS:
        next[at] = true; /* inside a part: only its slash leads on */
        if (c == '/')
            enter(glob, next, at + 1);
        break;
    }
}

static bool match(const struct pathglob *glob, struct arena *arena, struct str path)
{
    bool *now = ARENA_ARRAY(arena, bool, glob->count + 1);
    bool *next = ARENA_ARRAY(arena, bool, glob->count + 1);

    enter(glob, now, 0);
    while (path.n > 0) {
        uint32_t c = utf8_next(&path);
        bool *old = now;

        memset(next, 0, glob->count + 1);
        for (size_t at = 0; at < glob->count; at++)
            if (now[at])
                step(glob, at, c, next);
        now = next;
        next = old;
    }
    return now[glob->count];
}

bool pathglob_match(const struct pathglob_set *set, struct str path)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    bool matched = false;

    VEC_EACH (&set->globs, glob) {
        if (!match(*glob, &arena, path))
            continue;
        if ((*glob)->excludes)
            return false;
        matched = true;
    }
    return matched;
}
