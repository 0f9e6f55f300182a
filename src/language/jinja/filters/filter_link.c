/* urlize: addresses in text become links. */
#include "language/jinja/filters/filter.h"

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/regex.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

static const char address_pattern[] =
    "^((https?://|www\\.)(([\\w%-]+\\.)+)?([a-z]{2,63}|xn--[\\w%]{2,59})"
    "|([\\w%-]{2,63}\\.)+(com|net|int|edu|gov|org|info|mil)"
    "|(https?://)((([\\d]{1,3})(\\.[\\d]{1,3}){3})"
    "|(\\[([\\da-f]{0,4}:){2}([\\da-f]{0,4}:?){1,6}\\])))"
    "(?::[\\d]{1,5})?(?:[/?#]\\S*)?$";
static const char mail_pattern[] = "^\\S+@\\w[\\w.-]*\\.\\w+$";

struct linker {
    struct render *render;
    const struct matcher *address, *mail, *head, *tail, *blanks;
    int64_t trim; /* -1: never */
    struct buf attributes;
    const struct value_list *schemes; /* NULL: none */
    struct buf *out;
};

static int match_link(struct linker *linker, const struct matcher *regex, struct str text,
                      bool *ret)
{
    struct matcher_match match;

    return regex_find(linker->render, regex, text, 0, &match, ret);
}

static size_t count_occurrences(struct str text, struct str part)
{
    size_t count = 0;

    for (size_t at = 0; (at = str_find(text, part, at)) != STR_NONE; at += part.n)
        count++;
    return count;
}

/* Closing brackets belong to the address if it opened them, not to the sentence. */
static void balance_brackets(struct str *middle, struct str *tail)
{
    static const struct {
        struct str open, close;
    } pairs[] = {
        { { "(", 1 }, { ")", 1 } },
        { { "<", 1 }, { ">", 1 } },
        { { "&lt;", 4 }, { "&gt;", 4 } },
    };

    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        size_t opened = count_occurrences(*middle, pairs[i].open);
        size_t moves = count_occurrences(*tail, pairs[i].close);

        if (opened <= count_occurrences(*middle, pairs[i].close))
            continue;
        for (size_t k = 0; k < (opened < moves ? opened : moves); k++) {
            size_t end = str_find(*tail, pairs[i].close, 0) + pairs[i].close.n;

            middle->n += end; /* the tail follows the middle in the text */
            *tail = str_from_offset(*tail, end);
        }
    }
}

static void add_trimmed(struct linker *linker, struct str text)
{
    if (linker->trim >= 0 && utf8_count(text) > (size_t)linker->trim) {
        buf_add_str(linker->out, str_slice(text, 0, utf8_offset(text, (size_t)linker->trim)));
        buf_add_text(linker->out, "...");
    } else {
        buf_add_str(linker->out, text);
    }
}

static void add_html_link(struct linker *linker, const char *scheme, struct str address,
                          bool attributes)
{
    buf_printf(linker->out, "<a href=\"%s%.*s\"", scheme, STR_ARG(address));
    if (attributes)
        buf_add_str(linker->out, buf_view(&linker->attributes));
    buf_add_char(linker->out, '>');
}

static bool add_other_scheme(struct linker *linker, struct str middle)
{
    bool added = false;

    for (size_t i = 0; linker->schemes && i < linker->schemes->count; i++) {
        struct str scheme = linker->schemes->items[i].s;

        if (str_eq(middle, scheme) || !str_starts(middle, scheme))
            continue;
        add_html_link(linker, "", middle, true);
        buf_printf(linker->out, "%.*s</a>", STR_ARG(middle));
        added = true;
        break;
    }
    return added;
}

static int add_middle(struct linker *linker, struct str middle)
{
    bool address, mail = false;
    struct str bare = middle;

    if (match_link(linker, linker->address, middle, &address) < 0)
        return -1;
    if (address) {
        bool whole = str_starts(middle, STR("https://")) || str_starts(middle, STR("http://"));

        add_html_link(linker, whole ? "" : "https://", middle, true);
        add_trimmed(linker, middle);
        buf_add_text(linker->out, "</a>");
        return 0;
    }
    if (str_starts(middle, STR("mailto:")))
        bare = str_from_offset(middle, 7);
    else if (str_starts(middle, STR("www.")) || str_find_char(middle, ':', 0) != STR_NONE ||
             str_find_char(middle, '@', 0) == STR_NONE)
        bare = (struct str){ NULL, 0 };
    if (bare.p && match_link(linker, linker->mail, bare, &mail) < 0)
        return -1;
    if (mail) {
        add_html_link(linker, "mailto:", bare, false);
        buf_printf(linker->out, "%.*s</a>", STR_ARG(bare));
    } else if (!add_other_scheme(linker, middle)) {
        buf_add_str(linker->out, middle);
    }
    return 0;
}

static int add_linked_word(struct linker *linker, struct str word)
{
    struct str middle = word, tail = { NULL, 0 };
    struct matcher_match match;
    bool found;

    if (regex_find(linker->render, linker->head, word, 0, &match, &found) < 0)
        return -1;
    if (found) {
        buf_add_str(linker->out, matcher_text(&match, word, 0));
        middle = str_from_offset(word, match.groups[0].end);
    }
    if (regex_find(linker->render, linker->tail, middle, 0, &match, &found) < 0)
        return -1;
    if (found) {
        tail = str_from_offset(middle, match.groups[0].start);
        middle = str_slice(middle, 0, match.groups[0].start);
    }
    balance_brackets(&middle, &tail);
    if (add_middle(linker, middle) < 0)
        return -1;
    buf_add_str(linker->out, tail);
    return 0;
}

static int add_linked_words(struct linker *linker, struct str text)
{
    for (size_t at = 0; at < text.n;) {
        struct matcher_match match;
        struct str word;
        bool found;

        if (regex_find(linker->render, linker->blanks, text, at, &match, &found) < 0)
            return -1;
        word = str_slice(text, at, (found ? match.groups[0].start : text.n) - at);
        if (add_linked_word(linker, word) < 0)
            return -1;
        if (!found)
            break;
        buf_add_str(linker->out, matcher_text(&match, text, 0));
        at = match.groups[0].end;
    }
    return 0;
}

static void add_attribute(struct linker *linker, const char *name, struct str text)
{
    buf_printf(&linker->attributes, " %s=\"", name);
    op_escape(text, &linker->attributes);
    buf_add_char(&linker->attributes, '"');
}

/* rel: the caller's words, noopener and nofollow, sorted and each once. */
static int read_rel(struct linker *linker, const struct bound_args *bound)
{
    static const char *const always[] = { "nofollow", "noopener" };
    AUTO_BUF struct buf sorted = BUF_INIT(TEXT_MAX);
    struct value words = value_list(value_list_new(linker->render->arena, 0)), given, unique;
    const struct value_list *list;
    const struct value exact[] = { value_bool(false),
                                   value_bool(true) }; /* reverse, case_sensitive */
    const struct function_call sort = { .args = exact, .count = 2 };
    const struct function_call distinct = { .args = exact + 1, .count = 1 };
    bool nofollow;

    if (op_truth(linker->render, &bound->args[2], &nofollow) < 0)
        return -1;
    for (size_t i = nofollow ? 0 : 1; i < ARRAY_LEN(always); i++)
        value_list_push(linker->render->arena, words.list, value_text(always[i]));
    if (!argument_is_none(&bound->args[4])) {
        struct str rel;

        if (argument_text(linker->render, &bound->args[4], &rel) < 0)
            return -1;
        given = value_str(rel);
        if (argument_method(linker->render, &given, "split", NULL, 0, &given) < 0 ||
            op_list(linker->render, &given, &list) < 0)
            return -1;
        for (size_t i = 0; i < list->count; i++)
            value_list_push(linker->render->arena, words.list, list->items[i]);
    }
    if (filter_apply(linker->render, STR("unique"), &words, &distinct, &unique) < 0 ||
        filter_apply(linker->render, STR("sort"), &unique, &sort, &unique) < 0 ||
        op_list(linker->render, &unique, &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            buf_add_char(&sorted, ' ');
        buf_add_str(&sorted, list->items[i].s);
    }
    add_attribute(linker, "rel", buf_view(&sorted));
    return 0;
}

static int compile_link_patterns(struct linker *linker)
{
    struct render *render = linker->render;

    if (regex_new(render, str_from(address_pattern), MATCHER_IGNORE_CASE, &linker->address) < 0 ||
        regex_new(render, str_from(mail_pattern), 0, &linker->mail) < 0 ||
        regex_new(render, STR("([(<]|&lt;)+"), MATCHER_ANCHORED, &linker->head) < 0 ||
        regex_new(render, STR("([)>.,\\n]|&gt;)+$"), 0, &linker->tail) < 0 ||
        regex_new(render, STR("\\s+"), 0, &linker->blanks) < 0)
        return -1;
    return 0;
}

static int read_link_options(struct linker *linker, const struct bound_args *bound)
{
    struct str target;

    linker->trim = -1;
    if (!argument_is_none(&bound->args[1]) &&
        argument_int(linker->render, &bound->args[1], &linker->trim) < 0)
        return -1;
    if (read_rel(linker, bound) < 0)
        return -1;
    if (!argument_is_none(&bound->args[3])) {
        if (argument_text(linker->render, &bound->args[3], &target) < 0)
            return -1;
        add_attribute(linker, "target", target);
    }
    if (!argument_is_none(&bound->args[5]) &&
        op_list(linker->render, &bound->args[5], &linker->schemes) < 0)
        return -1;
    return 0;
}

static int filter_urlize(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX), text = BUF_INIT(TEXT_MAX);
    struct linker linker = {
        .render = render,
        .out = &out,
        .attributes = BUF_INIT(TEXT_MAX),
    };
    int result = -1;
    struct str s;

    if (compile_link_patterns(&linker) == 0 && read_link_options(&linker, bound) == 0 &&
        argument_text(render, &bound->args[0], &s) == 0) {
        if (bound->args[0].flags & VALUE_SAFE)
            buf_add_str(&text, s);
        else
            op_escape(s, &text);
        if (add_linked_words(&linker, buf_view(&text)) == 0)
            result = text_finish(render, &out, render->autoescape ? VALUE_SAFE : 0, ret);
    }
    buf_done(&linker.attributes);
    return result;
}

/* clang-format off */
const struct function filter_link_functions[] = {
    { "urlize", "value, trim_url_limit=none, nofollow=false, target=none, rel=none, extra_schemes=none", filter_urlize, "addresses in text as links" },
    { 0 },
};
/* clang-format on */
