#include "core/data/shebang.h"

#include "core/base/diag.h"
#include "core/base/mem.h"

/* JSON is YAML. */
static const char *const readers[] = { "jinja", "yaml", "json" };

static bool is_known_reader(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        if (str_is(word, readers[i]))
            return true;
    return false;
}

int shebang_read(const char *file, struct str text, bool *ret_template, struct diags *diags)
{
    const struct str line = str_line_at(text, 0);
    struct str rest = str_from_offset(line, 2);

    *ret_template = true;
    if (!str_starts(line, STR("#!")) || str_starts(line, STR("#!/")))
        return 0;
    *ret_template = false;
    while (rest.p) {
        const struct str word = str_trim(str_cut(&rest, '|'));

        *ret_template |= str_is(word, "jinja");
        if (is_known_reader(word))
            continue;
        (void)diag_add(diags, (struct place){ file, 1, 1 }, "no renderer '%.*s'", STR_ARG(word));
        diag_source(diags, text);
        diag_hint(diags, "files are rendered by 'jinja|yaml'");
        return -1;
    }
    return 0;
}
