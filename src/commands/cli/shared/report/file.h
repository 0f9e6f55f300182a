/*
 * report_file - a report as a file: made, written whole, announced.
 *
 * As a page of HTML, or the same as data for programs (commands/cli/shared/report/data.h).
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_FILE_H
#define COMMANDS_CLI_SHARED_REPORT_FILE_H

#include <stddef.h>

struct cli;
struct report_machine;
struct report_page;

#define REPORT_FILE_NAME "zester-report.html"

enum report_form { REPORT_HTML, REPORT_JSON, REPORT_YAML };

/* Write the report to `path` ("-": standard output; NULL: a page to REPORT_FILE_NAME, data to
 * standard output) and say so on standard error. A new file is readable by its owner only, since
 * differences of files are in it; one that is there keeps its mode. A symbolic link is replaced.
 * Sorts the machines, those that need attention first. Returns the exit status. */
int report_file_write(struct cli *cli, const char *path, enum report_form form,
                      struct report_page *page, struct report_machine *machines);

#endif
