#include "commands/cli/shared/report/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/report/data.h"
#include "commands/cli/shared/report/page.h"
#include "core/data/json.h"
#include "core/data/yaml_dump.h"
#include "core/sys/fs.h"

/* Failed, drifted, unknown, converged. */
static int find_urgency(const struct report_machine *machine)
{
    static const char *const order[] = { "failed", "drifted", "unknown" };
    int place = 0;

    while (place < (int)ARRAY_LEN(order) && strcmp(order[place], machine->drift) != 0)
        place++;
    return place;
}

static int compare_machines(const void *a, const void *b)
{
    const struct report_machine *left = a, *right = b;

    if (find_urgency(left) != find_urgency(right))
        return find_urgency(left) - find_urgency(right);
    return strcmp(left->name, right->name);
}

static int write_page(const char *path, struct str page, struct err *err)
{
    struct fs_replace_options how = { .attr = FS_ATTR_KEEP, .sync = FS_SYNC };
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        how.attr.mode = 0600;
    return fs_replace(path, page, &how, err);
}

/* -1: its data cannot be printed. */
static int print_report_file(struct arena *arena, enum report_form form,
                             const struct report_page *page, struct buf *out, struct err *err)
{
    struct value data;

    if (form == REPORT_HTML) {
        report_page_print(arena, page, out);
        return 0;
    }
    data = report_data(arena, page);
    if (form == REPORT_YAML)
        return yaml_dump(arena, out, &data, err);
    if (json_print(out, &data, JSON_STYLE_PRETTY | JSON_STYLE_TEXT, err) < 0)
        return -1;
    buf_add_char(out, '\n');
    return 0;
}

int report_file_write(struct cli *cli, const char *path, enum report_form form,
                      struct report_page *page, struct report_machine *machines)
{
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);
    const char *where = path ? path : form == REPORT_HTML ? REPORT_FILE_NAME : "-";
    struct err err;

    if (page->count > 1)
        qsort(machines, page->count, sizeof(machines[0]), compare_machines);
    page->machines = machines;
    if (print_report_file(cli->arena, form, page, &out, &err) < 0 && !out.full)
        return cli_err(cli, &err);
    if (out.full)
        return cli_error(cli, "the report is larger than %zu MiB; name fewer machines",
                         REPORT_PAGE_MAX >> 20);
    if (strcmp(where, "-") == 0) {
        (void)fwrite(buf_text(&out), 1, out.n, stdout);
        return CLI_OK;
    }
    if (write_page(where, buf_view(&out), &err) < 0)
        return cli_err(cli, &err);
    (void)fprintf(stderr, "wrote %s: %zu machine%s, %zu failed\n", where, page->count,
                  page->count == 1 ? "" : "s", report_page_count(page, "failed"));
    return CLI_OK;
}
