#include "jinja/template.h"

#include "base/utf8.h"

struct place template_place(const struct template *template, uint32_t at)
{
    struct str text = template->text;
    size_t end = at < text.n ? at : text.n;
    size_t line_start = 0;
    uint32_t line = 1;

    for (size_t i = 0; i < end; i++)
        if (text.p[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    return (struct place){
        .file = template->name,
        .line = line,
        .column = (uint32_t)utf8_count(str_slice(text, line_start, end - line_start)) + 1,
    };
}

const struct node_block *template_find_block(const struct template *template,
                                             const struct name *name)
{
    for (size_t i = 0; i < template->block_count; i++)
        if (template->blocks[i]->name == name)
            return template->blocks[i];
    return NULL;
}
