/*
 * kepler_page - the page of `kepler top`: its data, its view, and its rendered frame.
 *
 *     kepler top   /srv/app/kepler.yaml   2 of 3 services run   cpu 12.5%   memory 40 MB
 *     [1 dashboard]  2 logs   3 detail
 *
 *     SERVICE  STATUS  PID   CPU    MEMORY  VIRTUAL  PROCESSES
 *     web      Up 5m   4711  12.5%  40 MB   120 MB   2
 *
 *     cpu of web: 12.5%, most 99.0%                    a chart, the newest at its right end
 *     memory of web: 40 MB, most 41 MB
 *     q quit  1-3 tab  j/k move  S start  X stop  R restart  s sort: name  ...
 *
 * Daemon replies and keys go in, a frame comes out; the action that a user requested is left in
 * `action`. Keeps the last PAGE_POINTS samples of each service and the last PAGE_LINES log lines.
 * Service output cannot send control sequences to the terminal.
 *
 * Pure: time is handed in. Memory: kepler_page_done. Threads: one.
 */
#ifndef COMMANDS_CLI_KEPLER_PAGE_H
#define COMMANDS_CLI_KEPLER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "commands/cli/shared/list_view.h"
#include "core/data/value.h"

struct buf;
struct log_line;

#define PAGE_POINTS   600
#define PAGE_LINES    1000
#define PAGE_TEXT_MAX 512

enum page_tab { PAGE_DASHBOARD, PAGE_LOGS, PAGE_DETAIL };
#define PAGE_TABS (PAGE_DETAIL + 1)
enum page_sort { PAGE_SORT_NAME, PAGE_SORT_CPU, PAGE_SORT_MEMORY };
#define PAGE_SORTS (PAGE_SORT_MEMORY + 1)
enum page_action { PAGE_NOTHING, PAGE_START, PAGE_STOP, PAGE_RESTART };
#define PAGE_ACTIONS (PAGE_RESTART + 1)

struct page_point {
    double cpu;
    int64_t memory;
};

struct page_service {
    char *name;
    struct arena arena;                    /* of CPU and memory: */
    struct value status;                   /* a map from the daemon */
    struct value metric;                   /* latest sample; null: none */
    bool is_known;                         /* present in the last reply */
    struct page_point points[PAGE_POINTS]; /* a ring */
    size_t point_count, next_point;
};

struct kepler_page {
    const char *path;
    struct list_view view; /* of services */
    struct list_view lines_view;
    bool follows_lines; /* the cursor stays at the newest */
    enum page_tab tab;
    enum page_sort sort;
    bool reverse;
    size_t zoom;              /* samples in one column of a chart, from 1 */
    enum page_action confirm; /* awaits confirmation; acts on `target` */
    enum page_action action;  /* confirmed; the owner performs and clears it */
    char target[PAGE_TEXT_MAX];
    char message[PAGE_TEXT_MAX]; /* result of the last action; "": nothing */
    bool is_over, is_suspended;
    VEC(struct page_service *) services;
    char *lines[PAGE_LINES]; /* a ring */
    size_t line_count, next_line;
    char cursor[PAGE_TEXT_MAX]; /* the service under the cursor */
};

/* Keeps `path`. */
void kepler_page_init(struct kepler_page *page, const char *path);
void kepler_page_done(struct kepler_page *page);

/* The service map of a status reply; services not in it are removed. */
void kepler_page_take_status(struct kepler_page *page, const struct value *services);
/* The list of a metrics reply. `is_live`: current samples; a service without one has none. */
void kepler_page_take_metrics(struct kepler_page *page, const struct value *metrics, bool is_live);
void kepler_page_take_line(struct kepler_page *page, const struct log_line *line);
/* Shown in the last line until the next key. */
void kepler_page_say(struct kepler_page *page, const char *fmt, ...) PRINTF_LIKE(2, 3);

void kepler_page_resize(struct kepler_page *page, size_t rows, size_t columns);
void kepler_page_press(struct kepler_page *page, int key);
/* Renders as many lines as the terminal has rows. `now` is wall time in nanoseconds. */
void kepler_page_print(struct kepler_page *page, int64_t now, struct buf *out);

#endif
