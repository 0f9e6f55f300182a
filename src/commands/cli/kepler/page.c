#include "commands/cli/kepler/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/keys.h"
#include "kepler/logs/log_line.h"

#define ZOOM_MAX 8

void kepler_page_init(struct kepler_page *page, const char *path)
{
    *page = (struct kepler_page){ .path = path, .zoom = 1, .follows_lines = true };
}

static void free_service(struct page_service *service)
{
    arena_done(&service->arena);
    free(service->name);
    free(service);
}

void kepler_page_done(struct kepler_page *page)
{
    VEC_EACH (&page->services, service)
        free_service(*service);
    vec_done(&page->services);
    for (size_t i = 0; i < PAGE_LINES; i++)
        free(page->lines[i]);
}

/* --- what comes ----------------------------------------------------------------------------- */

static struct page_service *open_service(struct kepler_page *page, const char *name)
{
    struct page_service *service;

    VEC_EACH (&page->services, one)
        if (strcmp((*one)->name, name) == 0)
            return *one;
    service = mem_zalloc(sizeof(*service));
    service->name = mem_strdup(name);
    service->status = service->metric = value_null();
    VEC_PUSH(&page->services, service);
    return service;
}

/* Both values are written anew, so that old ones take no room. */
static void set_values(struct page_service *service, struct value status, struct value metric)
{
    struct arena arena = ARENA_INIT;

    status = value_copy(&arena, &status);
    metric = value_copy(&arena, &metric);
    arena_done(&service->arena);
    service->arena = arena;
    service->status = status;
    service->metric = metric;
}

static void forget_unknown(struct kepler_page *page)
{
    size_t kept = 0;

    for (size_t i = 0; i < page->services.n; i++) {
        if (page->services.p[i]->is_known)
            page->services.p[kept++] = page->services.p[i];
        else
            free_service(page->services.p[i]);
    }
    page->services.n = kept;
}

void kepler_page_take_status(struct kepler_page *page, const struct value *services)
{
    VEC_EACH (&page->services, service)
        (*service)->is_known = false;
    for (size_t i = 0; services && value_is(services, VALUE_MAP) && i < services->map->count; i++) {
        const struct value_pair *pair = &services->map->pairs[i];
        struct page_service *service;

        if (!value_is(&pair->key, VALUE_STR) || !value_is(&pair->value, VALUE_MAP))
            continue;
        service = open_service(page, pair->key.s.p);
        service->is_known = true;
        set_values(service, pair->value, service->metric);
    }
    forget_unknown(page);
}

static void add_point(struct page_service *service, const struct value *metric)
{
    const struct value *cpu = value_get(metric, "cpu_percent"),
                       *rss = value_get(metric, "memory_rss");
    struct page_point *point = &service->points[service->next_point];

    point->cpu = cpu && value_is(cpu, VALUE_DOUBLE) ? cpu->d : 0;
    point->memory = rss && value_is(rss, VALUE_INT) ? rss->i : 0;
    service->next_point = (service->next_point + 1) % PAGE_POINTS;
    if (service->point_count < PAGE_POINTS)
        service->point_count++;
}

/* Services that do not run have no data. */
static void drop_metrics(struct kepler_page *page)
{
    for (size_t i = 0; i < page->services.n; i++) {
        struct page_service *service = page->services.p[i];

        if (!value_is(&service->metric, VALUE_NULL))
            set_values(service, service->status, value_null());
    }
}

void kepler_page_take_metrics(struct kepler_page *page, const struct value *metrics, bool is_live)
{
    if (is_live)
        drop_metrics(page);
    for (size_t i = 0; metrics && value_is(metrics, VALUE_LIST) && i < metrics->list->count; i++) {
        const struct value *metric = &metrics->list->items[i];
        const struct value *name = value_get(metric, "service");
        struct page_service *service;

        if (!name || !value_is(name, VALUE_STR))
            continue;
        service = open_service(page, name->s.p);
        add_point(service, metric);
        if (is_live)
            set_values(service, service->status, *metric);
    }
}

void kepler_page_take_line(struct kepler_page *page, const struct log_line *line)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str whole;

    log_line_print(line, LOG_LINE_PLAIN, NULL, &text);
    whole = str_trim_right(buf_view(&text));
    whole = str_slice(whole, 0, utf8_offset(whole, PAGE_TEXT_MAX));
    free(page->lines[page->next_line]);
    page->lines[page->next_line] = mem_zalloc(whole.n + 1);
    memcpy(page->lines[page->next_line], whole.p, whole.n);
    page->next_line = (page->next_line + 1) % PAGE_LINES;
    if (page->line_count < PAGE_LINES)
        page->line_count++;
}

void kepler_page_say(struct kepler_page *page, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(page->message, sizeof(page->message), fmt, args);
    va_end(args);
}

/* --- keys ----------------------------------------------------------------------------------- */

void kepler_page_resize(struct kepler_page *page, size_t rows, size_t columns)
{
    page->view.rows = page->lines_view.rows = rows;
    page->view.columns = page->lines_view.columns = columns;
}

static void ask_for(struct kepler_page *page, enum page_action action)
{
    if (!page->cursor[0])
        return;
    page->confirm = action;
    (void)snprintf(page->target, sizeof(page->target), "%s", page->cursor);
}

static void press_letter(struct kepler_page *page, int key)
{
    switch (key) {
    case 'q':
    case KEY_CTRL_C: page->is_over = true; break;
    case KEY_CTRL_Z: page->is_suspended = true; break;
    case 'S': ask_for(page, PAGE_START); break;
    case 'X': ask_for(page, PAGE_STOP); break;
    case 'R': ask_for(page, PAGE_RESTART); break;
    case 's': page->sort = (page->sort + 1) % PAGE_SORTS; break;
    case 'r': page->reverse = !page->reverse; break;
    case '+': page->zoom = page->zoom > 1 ? page->zoom / 2 : 1; break;
    case '-': page->zoom = page->zoom < ZOOM_MAX ? page->zoom * 2 : ZOOM_MAX; break;
    case '\t': page->tab = (page->tab + 1) % PAGE_TABS; break;
    default:
        if (key >= '1' && key < '1' + PAGE_TABS)
            page->tab = (enum page_tab)(key - '1');
    }
}

void kepler_page_press(struct kepler_page *page, int key)
{
    page->message[0] = '\0';
    if (page->confirm != PAGE_NOTHING) {
        if (key == 'y' || key == 'Y')
            page->action = page->confirm;
        page->confirm = PAGE_NOTHING;
        if (key != KEY_CTRL_C)
            return;
    }
    if (page->tab == PAGE_LOGS && list_view_press(&page->lines_view, key))
        page->follows_lines = false;
    else if (page->tab == PAGE_LOGS || !list_view_press(&page->view, key))
        press_letter(page, key);
}
