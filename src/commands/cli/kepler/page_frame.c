/* The picture of a page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/kepler/page.h"
#include "commands/cli/kepler/status_text.h"
#include "core/data/scalar.h"

/* Lines of a chart without its title. */
#define CHART_ROWS  3
#define CHART_STEPS 8
/* Summary, tabs, blank; keys. */
#define LINES_AROUND 4
/* A blank and two charts. */
#define LINES_CHARTS (1 + 2 * (1 + CHART_ROWS))
/* A smaller terminal has none. */
#define ROWS_CHARTS 20
#define COLUMNS     7
#define STATUS_CELL 1
/* Between two columns, and what the status keeps however narrow the screen. */
#define CELL_GAP     2
#define STATUS_LEAST 20

static const char *const tab_names[] = { "dashboard", "logs", "detail" };
_Static_assert(ARRAY_LEN(tab_names) == PAGE_TABS, "every tab has a name");
static const char *const sort_names[] = { "name", "cpu", "memory" };
_Static_assert(ARRAY_LEN(sort_names) == PAGE_SORTS, "every order has a name");
static const char *const action_names[] = { "", "start", "stop", "restart" };
_Static_assert(ARRAY_LEN(action_names) == PAGE_ACTIONS, "every action has a name");

/* --- values --------------------------------------------------------------------------------- */

static double cpu_of(const struct page_service *service)
{
    const struct value *v = value_get(&service->metric, "cpu_percent");

    return v && value_is(v, VALUE_DOUBLE) ? v->d : 0;
}

static int64_t memory_of(const struct page_service *service, const char *key)
{
    const struct value *v = value_get(&service->metric, key);

    return v && value_is(v, VALUE_INT) ? v->i : 0;
}

static bool has_metric(const struct page_service *service)
{
    return value_is(&service->metric, VALUE_MAP);
}

static const char *print_page_size(struct arena *arena, int64_t bytes)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    number_print_size(bytes > 0 ? (uint64_t)bytes : 0, &text);
    return buf_copy(&text, arena).p;
}

static const char *print_service_status(struct arena *arena, const struct page_service *service,
                                        int64_t now)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (!value_is(&service->status, VALUE_MAP))
        return "-";
    kepler_status_print(&service->status, now, &text);
    return kepler_one_line(arena, buf_view(&text));
}

static bool is_running(const struct page_service *service)
{
    const struct value *v = value_get(&service->status, "pid");

    return v && value_is(v, VALUE_INT) && v->i > 0;
}

/* --- the services ---------------------------------------------------------------------------- */

struct page_table {
    struct arena *arena;
    struct kepler_page *page;
    int64_t now;
    const struct page_service **rows;
    size_t count;
};

static int compare_services(const void *a, const void *b, void *self)
{
    const struct page_service *x = *(const struct page_service *const *)a;
    const struct page_service *y = *(const struct page_service *const *)b;
    const struct kepler_page *page = self;
    const double left = page->sort == PAGE_SORT_CPU      ? cpu_of(x)
                        : page->sort == PAGE_SORT_MEMORY ? (double)memory_of(x, "memory_rss")
                                                         : 0;
    const double right = page->sort == PAGE_SORT_CPU      ? cpu_of(y)
                         : page->sort == PAGE_SORT_MEMORY ? (double)memory_of(y, "memory_rss")
                                                          : 0;
    const int order = left != right ? (left > right ? -1 : 1) : strcmp(x->name, y->name);

    return page->reverse ? -order : order;
}

static void fill_cells(const struct page_table *table, const struct page_service *service,
                       const char **cells)
{
    const struct value *pid = value_get(&service->status, "pid");
    const struct value *pids = value_get(&service->metric, "pids");

    cells[0] = service->name;
    cells[1] = print_service_status(table->arena, service, table->now);
    cells[2] = pid && value_is(pid, VALUE_INT)
                   ? arena_printf(table->arena, "%lld", (long long)pid->i)
                   : "-";
    cells[3] = cells[4] = cells[5] = cells[6] = "-";
    if (!has_metric(service))
        return;
    cells[3] = arena_printf(table->arena, "%.1f%%", cpu_of(service));
    cells[4] = print_page_size(table->arena, memory_of(service, "memory_rss"));
    cells[5] = print_page_size(table->arena, memory_of(service, "memory_vss"));
    cells[6] = arena_printf(table->arena, "%zu",
                            pids && value_is(pids, VALUE_LIST) ? pids->list->count : (size_t)0);
}

/* Sorted and filtered. */
static void list_table_rows(struct page_table *table)
{
    const struct kepler_page *page = table->page;

    table->rows = ARENA_ARRAY(table->arena, const struct page_service *, page->services.n + 1);
    VEC_EACH (&page->services, service) {
        const char *cells[COLUMNS];

        fill_cells(table, *service, cells);
        if (!page->view.filter[0] || strcasestr(cells[0], page->view.filter) ||
            strcasestr(cells[1], page->view.filter))
            table->rows[table->count++] = *service;
    }
    if (table->count > 1)
        qsort_r(table->rows, table->count, sizeof(table->rows[0]), compare_services,
                (void *)(uintptr_t)page);
}

static const struct page_service *find_cursor(const struct page_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i]->name, table->page->cursor) == 0)
            return table->rows[i];
    return table->count > 0 ? table->rows[0] : NULL;
}

/* The cursor is a place in the list; the service there is what actions are about. */
static void set_cursor(struct page_table *table, size_t place)
{
    struct kepler_page *page = table->page;

    page->cursor[0] = '\0';
    if (place < table->count)
        (void)snprintf(page->cursor, sizeof(page->cursor), "%s", table->rows[place]->name);
}

static void add_colored_text(const struct kepler_page *page, const char *text, enum color color,
                             struct buf *out)
{
    list_view_line(&page->view, str_from(text), color, false, out);
}

/* The statuses get what the other columns leave of the line. */
static void fit_page_statuses(const struct page_table *table, const char **cells, size_t rows)
{
    size_t others = 0, room;

    for (size_t c = 0; c < COLUMNS; c++) {
        size_t width = 0;

        for (size_t i = 0; i < rows && c != STATUS_CELL; i++) {
            const size_t own = utf8_count(str_from(cells[i * COLUMNS + c]));

            width = own > width ? own : width;
        }
        others += width + (c + 1 < COLUMNS ? CELL_GAP : 0);
    }
    room = table->page->view.columns > others + STATUS_LEAST ? table->page->view.columns - others
                                                             : STATUS_LEAST;
    for (size_t i = 1; i < rows; i++)
        cells[i * COLUMNS + STATUS_CELL] =
            kepler_fit(table->arena, cells[i * COLUMNS + STATUS_CELL], room);
}

static void add_table(struct page_table *table, size_t room, struct buf *out)
{
    static const char *const heads[COLUMNS] = { "SERVICE", "STATUS",  "PID",      "CPU",
                                                "MEMORY",  "VIRTUAL", "PROCESSES" };
    struct kepler_page *page = table->page;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const size_t rows = room > 1 ? room - 1 : 1;
    const char **cells = ARENA_ARRAY(table->arena, const char *, (rows + 1) * COLUMNS);
    size_t shown;
    struct str rest;

    list_view_clamp(&page->view, table->count, rows);
    set_cursor(table, page->view.selected);
    shown = table->count - page->view.first < rows ? table->count - page->view.first : rows;
    memcpy(cells, heads, sizeof(heads));
    for (size_t i = 0; i < shown; i++)
        fill_cells(table, table->rows[page->view.first + i], &cells[(i + 1) * COLUMNS]);
    fit_page_statuses(table, cells, shown + 1);
    columns_print(&text, cells, COLUMNS, shown + 1);
    rest = buf_view(&text);
    for (size_t i = 0; i <= shown; i++) {
        const struct page_service *service = i > 0 ? table->rows[page->view.first + i - 1] : NULL;

        list_view_line(&page->view, str_cut(&rest, '\n'),
                       service ? kepler_status_color(&service->status) : COLOR_DIM,
                       i > 0 && page->view.first + i - 1 == page->view.selected, out);
    }
    for (size_t i = shown; i < rows; i++)
        buf_add_char(out, '\n');
}

/* --- charts --------------------------------------------------------------------------------- */

static double read_point(const struct page_point *point, bool memory)
{
    return memory ? (double)point->memory : point->cpu;
}

/* The most of the looks that one column stands for; `back` columns before the newest. */
static double column_value(const struct page_service *service, size_t zoom, size_t back,
                           bool memory)
{
    double most = -1;

    for (size_t i = back * zoom; i < (back + 1) * zoom && i < service->point_count; i++) {
        const size_t at = (service->next_point + PAGE_POINTS - 1 - i) % PAGE_POINTS;
        const double v = read_point(&service->points[at], memory);

        most = v > most ? v : most;
    }
    return most;
}

static double find_most(const struct page_service *service, size_t zoom, size_t columns,
                        bool memory)
{
    double most = 0;

    for (size_t i = 0; i < columns; i++) {
        const double v = column_value(service, zoom, i, memory);

        most = v > most ? v : most;
    }
    return most;
}

/* One line of the chart; `row` counts from its bottom. */
static void add_chart_row(const struct kepler_page *page, const struct page_service *service,
                          bool memory, double scale, size_t row, struct buf *out)
{
    static const char *const blocks[CHART_STEPS + 1] = {
        " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
    };
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = page->view.columns; i-- > 0;) {
        const double v = column_value(service, page->zoom, i, memory);
        const double height =
            v < 0 || scale <= 0 ? 0
                                : v / scale * CHART_ROWS * CHART_STEPS - (double)row * CHART_STEPS;
        const size_t step = height <= 0 ? 0 : height >= CHART_STEPS ? CHART_STEPS : (size_t)height;

        /* Any usage is visible, however small. */
        buf_add_text(&line, blocks[step == 0 && row == 0 && v > 0 ? 1 : step]);
    }
    list_view_line(&page->view, str_trim_right(buf_view(&line)), memory ? COLOR_CYAN : COLOR_GREEN,
                   false, out);
}

static void add_chart(const struct page_table *table, const struct page_service *service,
                      bool memory, struct buf *out)
{
    const struct kepler_page *page = table->page;
    const double most = service ? find_most(service, page->zoom, page->view.columns, memory) : 0;
    const char *now = "-", *top = "-";

    if (service && memory) {
        now = print_page_size(table->arena, memory_of(service, "memory_rss"));
        top = print_page_size(table->arena, (int64_t)most);
    } else if (service) {
        now = arena_printf(table->arena, "%.1f%%", cpu_of(service));
        top = arena_printf(table->arena, "%.1f%%", most);
    }
    add_colored_text(page,
                     service ? arena_printf(table->arena, "%s of %s: %s, most %s",
                                            memory ? "memory" : "cpu", service->name, now, top)
                             : "",
                     COLOR_DIM, out);
    for (size_t row = CHART_ROWS; row-- > 0;) {
        if (service)
            add_chart_row(page, service, memory, most, row, out);
        else
            buf_add_char(out, '\n');
    }
}

static void add_dashboard(struct page_table *table, struct buf *out)
{
    const size_t rows = table->page->view.rows;
    const bool charts = rows >= ROWS_CHARTS;
    const size_t around = LINES_AROUND + (charts ? LINES_CHARTS : 0);

    add_table(table, rows > around ? rows - around : 1, out);
    if (!charts)
        return;
    buf_add_char(out, '\n');
    add_chart(table, find_cursor(table), false, out);
    add_chart(table, find_cursor(table), true, out);
}

/* --- logs ------------------------------------------------------------------------------------ */

static size_t filter_lines(const struct kepler_page *page, const char **lines)
{
    const char *filter = page->lines_view.filter;
    size_t count = 0;

    for (size_t i = page->line_count; i > 0; i--) {
        const char *line = page->lines[(page->next_line + PAGE_LINES - i) % PAGE_LINES];

        if (!filter[0] || strcasestr(line, filter))
            lines[count++] = line;
    }
    return count;
}

static void add_logs(struct page_table *table, struct buf *out)
{
    struct kepler_page *page = table->page;
    struct list_view *view = &page->lines_view;
    const size_t room = view->rows > LINES_AROUND ? view->rows - LINES_AROUND : 1;
    const char **lines = ARENA_ARRAY(table->arena, const char *, PAGE_LINES);
    const size_t count = filter_lines(page, lines);

    if (page->follows_lines)
        view->selected = count;
    list_view_clamp(view, count, room);
    page->follows_lines = view->selected + 1 >= count;
    for (size_t i = 0; i < room; i++) {
        const size_t at = view->first + i;

        if (at < count)
            list_view_line(view, str_from(lines[at]), COLOR_NONE, at == view->selected, out);
        else
            buf_add_char(out, '\n');
    }
}

/* --- one service ----------------------------------------------------------------------------- */

static void add_page_detail(struct page_table *table, const char *name, const struct value *v,
                            struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT), text = BUF_INIT(BUF_NO_LIMIT);

    if (value_is(v, VALUE_LIST)) {
        for (size_t i = 0; i < v->list->count; i++) {
            buf_add_text(&text, i > 0 ? " " : "");
            scalar_print(&text, &v->list->items[i]);
        }
    } else if (!value_is(v, VALUE_NULL) && !value_is(v, VALUE_MAP)) {
        scalar_print(&text, v);
    }
    if (text.n == 0)
        return;
    buf_printf(&line, "%-22s ", name);
    columns_print_text(&line, kepler_one_line(table->arena, buf_view(&text)));
    list_view_line(&table->page->view, buf_view(&line), COLOR_NONE, false, out);
}

static size_t count_page_lines(struct str text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == '\n';
    return count;
}

static void add_detail_map(struct page_table *table, const struct value *map, struct buf *out)
{
    for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map->count; i++)
        add_page_detail(table, map->map->pairs[i].key.s.p, &map->map->pairs[i].value, out);
}

/* j and k go to the next service. */
static void add_detail(struct page_table *table, struct buf *out)
{
    struct kepler_page *page = table->page;
    const size_t room = page->view.rows > LINES_AROUND ? page->view.rows - LINES_AROUND : 1;
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    const struct page_service *service;
    size_t shown;
    struct str rest;

    list_view_clamp(&page->view, table->count, room);
    set_cursor(table, page->view.selected);
    service = find_cursor(table);
    if (service) {
        add_colored_text(page,
                         arena_printf(table->arena, "%s: %s", service->name,
                                      print_service_status(table->arena, service, table->now)),
                         kepler_status_color(&service->status), &lines);
        buf_add_char(&lines, '\n');
        add_detail_map(table, &service->status, &lines);
        add_detail_map(table, &service->metric, &lines);
    }
    shown = count_page_lines(buf_view(&lines));
    rest = buf_view(&lines);
    for (size_t i = 0; i < room; i++) {
        if (i < shown)
            buf_add_str(out, str_cut(&rest, '\n'));
        buf_add_char(out, '\n');
    }
}

/* --- the frame ------------------------------------------------------------------------------- */

static void add_table_summary(const struct page_table *table, struct buf *out)
{
    const struct kepler_page *page = table->page;
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    size_t running = 0;
    double cpu = 0;
    int64_t memory = 0;

    VEC_EACH (&page->services, service) {
        running += is_running(*service);
        cpu += cpu_of(*service);
        memory += memory_of(*service, "memory_rss");
    }
    buf_add_text(&line, "kepler top   ");
    columns_print_text(&line, page->path);
    buf_printf(&line, "   %zu of %zu services run   cpu %.1f%%   memory %s", running,
               page->services.n, cpu, print_page_size(table->arena, memory));
    list_view_line(&page->view, buf_view(&line), COLOR_NONE, false, out);
}

static void add_tabs(const struct kepler_page *page, struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT(256);

    for (size_t i = 0; i < PAGE_TABS; i++)
        buf_printf(&line, "%s%c%zu %s%c", i > 0 ? " " : "", i == page->tab ? '[' : ' ', i + 1,
                   tab_names[i], i == page->tab ? ']' : ' ');
    list_view_line(&page->view, str_trim_right(buf_view(&line)), COLOR_NONE, false, out);
}

static void add_key_help(const struct kepler_page *page, struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    const struct list_view *view = page->tab == PAGE_LOGS ? &page->lines_view : &page->view;
    const bool asks = page->confirm != PAGE_NOTHING;

    if (asks) {
        buf_printf(&line, "%s %s? y: yes, any other key: no", action_names[page->confirm],
                   page->target);
    } else if (page->message[0]) {
        columns_print_text(&line, page->message);
    } else if (view->is_typing) {
        buf_add_text(&line, "filter: ");
        columns_print_text(&line, view->filter);
        buf_add_text(&line, "_   Enter keeps it, Escape clears it");
    } else {
        buf_printf(
            &line,
            "q quit  1-3 tab  j/k move  S start  X stop  R restart  s sort: %s%s  r reverse  "
            "+/- zoom  / filter",
            sort_names[page->sort], page->reverse ? " (reversed)" : "");
        if (view->filter[0]) {
            buf_add_text(&line, ": ");
            columns_print_text(&line, view->filter);
        }
    }
    list_view_line(&page->view, buf_view(&line), asks ? COLOR_YELLOW : COLOR_NONE, false, out);
}

void kepler_page_print(struct kepler_page *page, int64_t now, struct buf *out)
{
    static void (*const tabs[])(struct page_table * table, struct buf * out) = {
        [PAGE_DASHBOARD] = add_dashboard,
        [PAGE_LOGS] = add_logs,
        [PAGE_DETAIL] = add_detail,
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct page_table table = { .arena = &arena, .page = page, .now = now };

    list_table_rows(&table);
    add_table_summary(&table, out);
    add_tabs(page, out);
    buf_add_char(out, '\n');
    tabs[page->tab](&table, out);
    add_key_help(page, out);
}
