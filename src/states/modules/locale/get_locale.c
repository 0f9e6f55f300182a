/* locale.get_locale - the system locale. */
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define FILE_MAX ((size_t)1 << 20)

static struct str strip_locale_quotes(struct str text)
{
    const bool quoted =
        text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0];

    return quoted ? str_slice(text, 1, text.n - 2) : text;
}

static int get_locale_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    static const char *const files[] = { "/etc/default/locale", "/etc/locale.conf" };

    (void)args;
    *ret = value_text("");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct line line;
        struct str text;

        if (fs_read(run->arena, files[i], FILE_MAX, &text, err) < 0)
            return -1;
        while (text.p && lines_next(&text, &line)) {
            struct str rest = str_trim(line.text);

            if (str_is(str_cut(&rest, '='), "LANG") && rest.p)
                *ret = value_str(arena_str(run->arena, strip_locale_quotes(rest)));
        }
    }
    return 0;
}

const struct module module_locale_get_locale = {
    .name = "locale.get_locale",
    .summary = "the system locale",
    .params = params_none,
    .call = get_locale_call,
};
