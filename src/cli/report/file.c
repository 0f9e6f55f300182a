#include "cli/report/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/report/page.h"
#include "sys/fs.h"

/* Failed, drifted, unknown, converged. */
static int urgency(const struct report_machine *machine)
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

    if (urgency(left) != urgency(right))
        return urgency(left) - urgency(right);
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

int report_file_write(struct cli *cli, const char *path, struct report_page *page,
                      struct report_machine *machines)
{
    AUTO_BUF struct buf out = BUF_INIT(2 * REPORT_PAGE_MAX);
    size_t failed = 0;
    struct err err;

    if (page->count > 1)
        qsort(machines, page->count, sizeof(machines[0]), compare_machines);
    for (size_t i = 0; i < page->count; i++)
        failed += strcmp(machines[i].drift, "failed") == 0;
    page->machines = machines;
    report_page_print(cli->arena, page, &out);
    if (out.full)
        return cli_error(cli, "the report is larger than %zu MiB; name fewer machines",
                         REPORT_PAGE_MAX >> 20);
    if (strcmp(path, "-") == 0) {
        (void)fwrite(buf_text(&out), 1, out.n, stdout);
        return CLI_OK;
    }
    if (write_page(path, buf_view(&out), &err) < 0)
        return cli_err(cli, &err);
    (void)fprintf(stderr, "wrote %s: %zu machine%s, %zu failed\n", path, page->count,
                  page->count == 1 ? "" : "s", failed);
    return CLI_OK;
}
