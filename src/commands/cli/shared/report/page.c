#include "commands/cli/shared/report/page.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/number.h"
#include "commands/cli/shared/drawing.h"
#include "commands/cli/shared/local_time.h"
#include "core/data/html.h"
#include "states/run/lastrun.h"

/* State of a page while it is printed. */
#define ROOM_LEFT ((size_t)64 << 10)

struct printer {
    struct arena *arena;
    const struct report_page *page;
    struct buf *out;
    const struct report_machine **order; /* failed, drifted, then the others */
    bool brief;                          /* unchanged states are counted, not listed */
};

static const char *const outcome_names[] = {
    [OUTCOME_UNCHANGED] = "unchanged",
    [OUTCOME_CHANGED] = "changed",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_SKIPPED] = "skipped",
};

const char *report_outcome_name(enum state_outcome outcome)
{
    return outcome_names[outcome];
}

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n<style>\n"
    ":root{color-scheme:light dark;--ink:#1c2329;--dim:#5b6770;--ground:#fff;--panel:#f4f6f8;"
    "--line:#cfd6dc;--red:#b3261e;--amber:#8a5a00;--green:#1b6e3c;--blue:#1d5fa8}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e8ec;--dim:#9aa6b0;--ground:#14191d;"
    "--panel:#1e252b;--line:#3a444d;--red:#ff8f87;--amber:#f0be5e;--green:#7fd6a0;"
    "--blue:#8fc1ff}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:75rem;"
    "font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--ground)}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .6rem}"
    "p{margin:.3rem 0}.dim{color:var(--dim)}a{color:var(--blue)}\n"
    "table{border-collapse:collapse;width:100%;font-size:.93em}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;"
    "border-bottom:1px solid var(--line);overflow-wrap:anywhere}"
    "th{color:var(--dim);font-weight:600;overflow-wrap:normal}.n{text-align:right;white-space:"
    "nowrap;"
    "font-variant-numeric:tabular-nums}\n"
    ".scroll{overflow-x:auto;max-width:100%}.scroll td{overflow-wrap:normal}pre{margin:.3rem 0 "
    "0;padding:.5rem;max-height:24rem;"
    "overflow:auto;background:var(--panel);font:12px/1.4 monospace;white-space:pre-wrap;"
    "overflow-wrap:anywhere}\n"
    "code{font:12.5px monospace}.failed{color:var(--red)}.changed,.drifted{color:var(--amber)}"
    ".none{color:var(--green)}.unchanged,.skipped,.unknown{color:var(--dim)}"
    "td.failed,td.drifted{font-weight:600}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}.card{background:var(--panel);"
    "padding:.6rem 1rem;min-width:7rem}.card b{display:block;font-size:1.5rem}\n"
    "details{border:1px solid var(--line);margin:.6rem 0;padding:.5rem .8rem}"
    "summary{cursor:pointer;font-weight:600;overflow-wrap:anywhere}"
    "figure{margin:.8rem 0}figcaption{margin-bottom:.3rem;overflow-wrap:anywhere}\n"
    ".graph{background:var(--panel);display:block}.graph text{font:11.5px monospace;"
    "fill:var(--ink)}.graph path{fill:none;stroke:var(--dim)}"
    ".graph .box{fill:var(--ground);stroke:var(--dim)}"
    ".graph .box.failed{stroke:var(--red);stroke-width:2.5}"
    ".graph .box.changed{stroke:var(--amber);stroke-width:2.5}"
    ".graph .box.skipped{stroke-dasharray:4 3}\n"
    ".legend span{border:1px solid var(--dim);padding:.1rem .5rem;margin-right:.4rem}"
    ".legend .failed{border:2px solid var(--red)}.legend .changed{border:2px solid var(--amber)}"
    ".legend .skipped{border-style:dashed}.fold{border:0;padding:0}\n"
    "@media(max-width:40rem){body{padding:.7rem}.wide{display:none}"
    "th,td{padding:.3rem .35rem}details{padding:.5rem}}\n"
    "@media print{:root{--ink:#000;--dim:#444;--ground:#fff;--panel:#fff;--line:#999;--red:#900;"
    "--amber:#630;--green:#040;--blue:#000}body{padding:0;max-width:none}"
    "pre{max-height:none}.scroll{overflow:visible}.graph{max-width:100%;height:auto}"
    "tr,figure,.card{break-inside:avoid}}\n"
    "</style>\n";

/* --- order -------------------------------------------------------------------------- */

/* Which machines a reader has to see first; the others have RANK_OTHER. */
#define RANK_OTHER 2

static int rank_machine(const struct report_machine *machine)
{
    static const char *const drifts[RANK_OTHER] = { "failed", "drifted" };

    for (int i = 0; i < RANK_OTHER; i++)
        if (strcmp(machine->drift, drifts[i]) == 0)
            return i;
    return RANK_OTHER;
}

/* Machines of one rank stay in their order. */
static int compare_machines(const void *a, const void *b)
{
    const struct report_machine *left = *(const struct report_machine *const *)a,
                                *right = *(const struct report_machine *const *)b;
    const int order = rank_machine(left) - rank_machine(right);

    if (order != 0)
        return order;
    return left < right ? -1 : left > right;
}

static const struct report_machine **sort_machines(struct arena *arena,
                                                   const struct report_page *page)
{
    const struct report_machine **list =
        ARENA_ARRAY(arena, const struct report_machine *, page->count + 1);

    for (size_t i = 0; i < page->count; i++)
        list[i] = &page->machines[i];
    if (page->count > 1)
        qsort(list, page->count, sizeof(list[0]), compare_machines);
    return list;
}

/* --- parts -------------------------------------------------------------------------- */

static void add_duration(struct buf *out, int64_t ns)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    number_print_duration(ns > 0 ? ns : 0, &text);
    buf_add_str(out, buf_view(&text));
}

static void print_page_time(struct buf *out, struct value_time time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    buf_add_text(out, local_time_text(&arena, time));
}

static void begin_page_section(struct printer *printer, const char *id, const char *title)
{
    buf_printf(printer->out, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
}

static void end_section(struct printer *printer)
{
    buf_add_text(printer->out, "</section>\n");
}

static size_t find_machine_place(const struct printer *printer,
                                 const struct report_machine *machine)
{
    return (size_t)(machine - printer->page->machines);
}

static void print_page_link(struct printer *printer, const struct report_machine *machine)
{
    buf_printf(printer->out, "<a href=\"#m%zu\">", find_machine_place(printer, machine));
    html_add_text(printer->out, machine->name);
    buf_add_text(printer->out, "</a>");
}

static void add_links(struct printer *printer, const struct report_machine *const *machines,
                      size_t count)
{
    for (size_t i = 0; i < count && i < REPORT_NAMES_MAX; i++) {
        buf_add_text(printer->out, i > 0 ? ", " : "");
        print_page_link(printer, machines[i]);
    }
    if (count > REPORT_NAMES_MAX)
        buf_printf(printer->out, " and %zu more", count - REPORT_NAMES_MAX);
}

/* --- summary ------------------------------------------------------------------------ */

size_t report_page_count(const struct report_page *page, const char *drift)
{
    size_t count = 0;

    for (size_t i = 0; i < page->count; i++)
        count += strcmp(page->machines[i].drift, drift) == 0;
    return count;
}

static void add_card(struct printer *printer, const char *look, const char *word)
{
    buf_printf(printer->out, "<div class=\"card\"><b class=\"%s\">%zu</b>%s</div>\n", look,
               report_page_count(printer->page, look), word);
}

static void print_page_summary(struct printer *printer)
{
    const struct report_page *page = printer->page;
    struct buf *out = printer->out;

    buf_add_text(out, "<header><h1>");
    html_add_text(out, page->title);
    buf_add_text(out, "</h1><p class=\"dim\">");
    html_add_text(out, page->about);
    buf_add_text(out, ", ");
    buf_add_text(out, local_time_zoned(printer->arena, page->now));
    buf_add_text(out, "</p>\n");
    if (page->warning[0]) {
        buf_add_text(out, "<p class=\"failed\">");
        html_add_text(out, page->warning);
        buf_add_text(out, "</p>\n");
    }
    buf_printf(out, "<div class=\"cards\"><div class=\"card\"><b>%zu</b>machine%s</div>\n",
               page->count, page->count == 1 ? "" : "s");
    add_card(printer, "none", "converged");
    add_card(printer, "drifted", "drifted");
    add_card(printer, "failed", "failed");
    add_card(printer, "unknown", "unknown");
    buf_add_text(out, "</div></header>\n");
}

/* --- machines ----------------------------------------------------------------------- */

static void add_run_cells(struct buf *out, const struct lastrun *run)
{
    buf_add_text(out, "<td>");
    print_page_time(out, run->time);
    buf_add_text(out, "</td><td class=\"wide\"><code>");
    html_add_text(out, run->function);
    for (size_t i = 0; i < run->refs.n; i++) {
        buf_add_char(out, ' ');
        html_add_text(out, run->refs.p[i]);
    }
    buf_printf(out, "</code>%s</td><td class=\"n wide\">", run->test ? " (dry run)" : "");
    add_duration(out, run->duration);
    buf_printf(
        out,
        "</td><td class=\"n wide\">%u</td><td class=\"n wide\">%u</td><td class=\"n wide\">%u</td>",
        run->states, run->changed, run->failed);
}

static void add_machine_row(struct printer *printer, const struct report_machine *machine)
{
    struct buf *out = printer->out;

    buf_add_text(out, "<tr><td>");
    print_page_link(printer, machine);
    buf_add_text(out, machine->is_online ? "" : " <span class=\"dim\">(down)</span>");
    buf_add_text(out, "</td><td class=\"wide\">");
    html_add_text(out, machine->os[0] ? machine->os : "-");
    buf_add_text(out, "</td>");
    if (machine->run)
        add_run_cells(out, machine->run);
    else
        buf_add_text(out, "<td>-</td><td class=\"wide\">-</td><td class=\"wide\"></td>"
                          "<td class=\"wide\"></td><td class=\"wide\"></td>"
                          "<td class=\"wide\"></td>");
    buf_add_text(out, "<td class=\"wide\">");
    print_page_time(out, machine->run ? machine->run->converged : (struct value_time){ 0 });
    buf_printf(out, "</td><td class=\"%s\">", machine->drift);
    html_add_text(out, machine->drift_text);
    buf_add_text(out, "</td></tr>\n");
}

static void add_machines(struct printer *printer)
{
    begin_page_section(printer, "machines", "Machines");
    buf_add_text(
        printer->out,
        "<div class=\"scroll\"><table><thead><tr><th>Machine</th><th class=\"wide\">OS</th>"
        "<th>Last run</th><th class=\"wide\">Function</th>"
        "<th class=\"n wide\">Took</th><th class=\"n wide\">States</th>"
        "<th class=\"n wide\">Changed</th><th class=\"n wide\">Failed</th>"
        "<th class=\"wide\">Converged</th><th>Drift</th></tr></thead>"
        "<tbody>\n");
    for (size_t i = 0; i < printer->page->count; i++)
        add_machine_row(printer, printer->order[i]);
    buf_add_text(printer->out, "</tbody></table></div>\n");
    end_section(printer);
}

/* --- failures ----------------------------------------------------------------------- */

static void add_cause(struct printer *printer, const struct report_cause *cause)
{
    struct buf *out = printer->out;

    buf_printf(out, "<tr><td class=\"n\">%zu</td><td><code class=\"failed\">", cause->machines.n);
    html_add_text(out, cause->state);
    buf_add_text(out, "</code><pre>");
    html_add_cut(out, str_from(cause->error[0] ? cause->error : "no message"), REPORT_TEXT_MAX);
    buf_add_text(out, "</pre></td><td>");
    add_links(printer, cause->machines.p, cause->machines.n);
    buf_printf(out, "</td><td class=\"n\">%zu</td></tr>\n", cause->skipped);
}

static void add_causes(struct printer *printer)
{
    struct report_causes causes;

    report_fold_causes(printer->arena, printer->page->machines, printer->page->count, &causes);
    begin_page_section(printer, "failures", "Failures by cause");
    if (causes.list.n == 0) {
        buf_add_text(printer->out, "<p class=\"dim\">No state failed.</p>\n");
        end_section(printer);
        return;
    }
    buf_add_text(printer->out,
                 "<table><thead><tr><th class=\"n\">Machines</th><th>Cause</th><th>Where</th>"
                 "<th class=\"n\">Skipped there</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < causes.list.n && i < REPORT_CAUSES_MAX; i++)
        add_cause(printer, causes.list.p[i]);
    buf_add_text(printer->out, "</tbody></table>\n");
    if (causes.list.n > REPORT_CAUSES_MAX)
        buf_printf(printer->out, "<p>%zu more causes are left out.</p>\n",
                   causes.list.n - REPORT_CAUSES_MAX);
    end_section(printer);
}

/* --- slow states -------------------------------------------------------------------- */

/* Durations come from the machines and may be anything: the average of sums that were rounded may
 * be beyond all numbers, and is at most the longest. */
int64_t report_slow_mean(const struct report_slow *slow)
{
    const double average = slow->total / (double)slow->count;

    if (average <= 0)
        return 0;
    return average < (double)slow->longest ? (int64_t)average : slow->longest;
}

static void print_slow_states(struct printer *printer, const struct report_slow *slow)
{
    struct buf *out = printer->out;

    buf_add_text(out, "<tr><td><code>");
    html_add_text(out, slow->state);
    buf_add_text(out, "</code></td><td class=\"n\">");
    add_duration(out, slow->longest);
    buf_add_text(out, "</td><td class=\"n\">");
    add_duration(out, report_slow_mean(slow));
    buf_printf(out, "</td><td class=\"n\">%zu</td><td>", slow->count);
    print_page_link(printer, slow->machine);
    buf_add_text(out, "</td></tr>\n");
}

static void add_slows(struct printer *printer)
{
    struct report_slows slows;

    report_fold_slow(printer->arena, printer->page->machines, printer->page->count, &slows);
    begin_page_section(printer, "slowest", "Slowest states");
    if (slows.list.n == 0)
        buf_add_text(printer->out, "<p class=\"dim\">No states ran.</p>\n");
    else
        buf_add_text(printer->out, "<table><thead><tr><th>State</th><th class=\"n\">Longest</th>"
                                   "<th class=\"n\">Mean</th><th class=\"n\">Machines</th>"
                                   "<th>Longest on</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < slows.list.n && i < REPORT_SLOW_MAX; i++)
        print_slow_states(printer, slows.list.p[i]);
    buf_add_text(printer->out, slows.list.n > 0 ? "</tbody></table>\n" : "");
    end_section(printer);
}

/* --- graphs ------------------------------------------------------------------------- */

struct ordered_state {
    uint32_t level, place;
};

static int compare_levels(const void *a, const void *b)
{
    const struct ordered_state *left = a, *right = b;

    if (left->level != right->level)
        return left->level < right->level ? -1 : 1;
    return left->place < right->place ? -1 : 1;
}

/* The box of each state; levels of machines may say anything. */
static const uint32_t *add_page_boxes(struct arena *arena, const struct report_plan *plan,
                                      struct drawing *drawing)
{
    const struct report_machine *machine = plan->machines.p[0];
    struct ordered_state *order = ARENA_ARRAY(arena, struct ordered_state, machine->states.n);
    uint32_t *box_of = ARENA_ARRAY(arena, uint32_t, machine->states.n);

    for (uint32_t i = 0; i < machine->states.n; i++)
        order[i] = (struct ordered_state){ machine->states.p[i].level, i };
    qsort(order, machine->states.n, sizeof(order[0]), compare_levels);
    for (uint32_t i = 0; i < machine->states.n; i++) {
        const uint32_t place = order[i].place;

        box_of[place] = i;
        drawing_add_box_as(drawing,
                           report_fold_text(arena, machine->states.p[place].name, machine->name),
                           order[i].level, outcome_names[plan->outcomes[place]]);
    }
    return box_of;
}

/* From the state that runs first. */
static void add_arrows(const struct report_machine *machine, const uint32_t *box_of,
                       struct drawing *drawing)
{
    for (uint32_t i = 0; i < machine->states.n; i++)
        for (size_t k = 0; k < machine->states.p[i].need_count; k++) {
            const uint32_t other = machine->states.p[i].needs[k];
            const uint32_t a = box_of[i], b = box_of[other];

            if (drawing->arrows.n < REPORT_ARROWS_MAX &&
                machine->states.p[i].level != machine->states.p[other].level)
                drawing_add_arrow(drawing, a < b ? a : b, a < b ? b : a, "requisite", NULL);
        }
}

static void add_graph(struct printer *printer, const struct report_plan *plan)
{
    const struct report_machine *machine = plan->machines.p[0];
    struct drawing drawing = DRAWING_INIT(printer->arena);

    buf_add_text(printer->out, "<figure><figcaption>");
    add_links(printer, plan->machines.p, plan->machines.n);
    buf_printf(printer->out, ": %zu states</figcaption>\n", machine->states.n);
    if (machine->states.n > REPORT_BOXES_MAX) {
        buf_printf(printer->out, "<p class=\"dim\">Too large to draw: the limit is %d states.</p>",
                   REPORT_BOXES_MAX);
    } else {
        add_arrows(machine, add_page_boxes(printer->arena, plan, &drawing), &drawing);
        buf_add_text(printer->out, "<div class=\"scroll\">");
        drawing_print_figure(&drawing, printer->out);
        buf_add_text(printer->out, "</div>");
    }
    buf_add_text(printer->out, "</figure>\n");
}

static void add_graphs(struct printer *printer)
{
    struct report_plans plans;

    report_fold_plans(printer->arena, printer->page->machines, printer->page->count, &plans);
    if (plans.list.n == 0)
        return;
    begin_page_section(printer, "graphs", "What depends on what");
    buf_add_text(printer->out,
                 "<p class=\"dim\">States of one column run at the same time, columns from left to "
                 "right. An arrow leads from a state to one that requires it.</p>\n"
                 "<p class=\"legend\"><span class=\"failed\">failed</span> "
                 "<span class=\"changed\">changed</span> <span class=\"skipped\">skipped</span> "
                 "<span>unchanged</span></p>\n");
    for (size_t i = 0; i < plans.list.n && i < REPORT_GRAPHS_MAX; i++)
        add_graph(printer, plans.list.p[i]);
    if (plans.list.n > REPORT_GRAPHS_MAX)
        buf_printf(printer->out, "<p>%zu more plans are not drawn.</p>\n",
                   plans.list.n - REPORT_GRAPHS_MAX);
    end_section(printer);
}

/* --- states ------------------------------------------------------------------------- */

static void print_page_block(struct buf *out, const char *text, const char *look)
{
    if (!text[0])
        return;
    buf_printf(out, "<pre class=\"%s\">", look);
    html_add_cut(out, str_from(text), REPORT_TEXT_MAX);
    buf_add_text(out, "</pre>");
}

static void print_page_state(struct printer *printer, const struct report_state *state, bool test)
{
    const char *word =
        test && state->outcome == OUTCOME_CHANGED ? "would change" : outcome_names[state->outcome];
    struct buf *out = printer->out;

    buf_printf(out, "<tr><td class=\"n\">%u</td><td><code>", state->level);
    html_add_text(out, state->name);
    buf_add_text(out, "</code>");
    print_page_block(out, state->error, "failed");
    print_page_block(out, state->reason, "dim");
    print_page_block(out, state->again && state->again[0] ? "would change again:" : "", "drifted");
    print_page_block(out, state->again ? state->again : "", "drifted");
    print_page_block(out, state->diff, "diff");
    buf_printf(out, "</td><td class=\"%s\">%s</td><td class=\"n\">", outcome_names[state->outcome],
               word);
    add_duration(out, state->duration);
    buf_add_text(out, "</td></tr>\n");
}

static size_t count_unchanged(const struct report_machine *machine)
{
    size_t count = 0;

    VEC_EACH (&machine->states, state)
        count += state->outcome == OUTCOME_UNCHANGED;
    return count;
}

/* Those that did not change, or the others. */
static void print_state_table(struct printer *printer, const struct report_machine *machine,
                              bool unchanged)
{
    buf_add_text(printer->out,
                 "<table><thead><tr><th class=\"n\">Level</th><th>State</th><th>Outcome</th>"
                 "<th class=\"n\">Took</th></tr></thead><tbody>\n");
    VEC_EACH (&machine->states, state)
        if ((state->outcome == OUTCOME_UNCHANGED) == unchanged)
            print_page_state(printer, state, machine->shown && machine->shown->test);
    buf_add_text(printer->out, "</tbody></table>\n");
}

static void print_page_states(struct printer *printer, const struct report_machine *machine)
{
    const size_t unchanged = count_unchanged(machine);

    if (unchanged < machine->states.n)
        print_state_table(printer, machine, false);
    if (unchanged > 0 && printer->brief) {
        buf_printf(printer->out, "<p class=\"dim\">%zu unchanged states are not listed.</p>\n",
                   unchanged);
    } else if (unchanged > 0) {
        buf_printf(printer->out, "<details class=\"fold\"><summary>%zu unchanged</summary>\n",
                   unchanged);
        print_state_table(printer, machine, true);
        buf_add_text(printer->out, "</details>\n");
    }
}

static void print_page_machine(struct printer *printer, const struct report_machine *machine)
{
    struct buf *out = printer->out;

    buf_printf(out, "<details id=\"m%zu\"%s><summary>", find_machine_place(printer, machine),
               printer->page->count <= REPORT_OPEN_MAX || rank_machine(machine) < RANK_OTHER
                   ? " open"
                   : "");
    html_add_text(out, machine->name);
    buf_add_text(out, "</summary>\n");
    if (machine->shown) {
        buf_add_text(out, "<p class=\"dim\"><code>");
        html_add_text(out, machine->shown->function);
        buf_printf(out, "</code>%s, ", machine->shown->test ? ", a dry run" : "");
        print_page_time(out, machine->shown->time);
        buf_add_text(out, ", <code>");
        html_add_text(out, machine->shown->id);
        buf_add_text(out, "</code></p>\n");
        print_page_block(out, machine->shown->error, "failed");
    }
    if (machine->note[0]) {
        buf_add_text(out, "<p class=\"dim\">");
        html_add_text(out, machine->note);
        buf_add_text(out, "</p>\n");
    }
    if (machine->states.n > 0)
        print_page_states(printer, machine);
    buf_add_text(out, "</details>\n");
}

/* A machine that does not fit is removed whole. */
static void add_all_states(struct printer *printer)
{
    size_t i;

    begin_page_section(printer, "states", "States");
    for (i = 0; i < printer->page->count; i++) {
        const size_t before = printer->out->n;

        print_page_machine(printer, printer->order[i]);
        if (printer->out->n > REPORT_PAGE_MAX - ROOM_LEFT) {
            buf_cut(printer->out, before);
            break;
        }
    }
    if (i < printer->page->count)
        buf_printf(printer->out,
                   "<p class=\"failed\">The states of %zu machines are left out: the page would be "
                   "larger than %zu MiB.</p>\n",
                   printer->page->count - i, REPORT_PAGE_MAX >> 20);
    end_section(printer);
}

void report_page_print(struct arena *arena, const struct report_page *page, struct buf *out)
{
    struct printer printer = { .arena = arena, .page = page, .out = out };
    size_t states = 0;

    for (size_t i = 0; i < page->count; i++)
        states += page->machines[i].states.n;
    printer.order = sort_machines(arena, page);
    printer.brief = states > REPORT_STATES_MAX;
    buf_add_text(out, head);
    buf_add_text(out, "<title>");
    html_add_text(out, page->title);
    buf_printf(out,
               "</title></head><body>\n<svg width=\"0\" height=\"0\" aria-hidden=\"true\" "
               "style=\"position:absolute\">%s</svg>\n",
               drawing_defs);
    print_page_summary(&printer);
    add_machines(&printer);
    add_causes(&printer);
    add_slows(&printer);
    add_graphs(&printer);
    add_all_states(&printer);
    buf_add_text(out, "</body></html>\n");
}
