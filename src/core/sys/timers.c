#include "core/sys/timers.h"

#include "core/sys/clock.h"

void timers_init(struct timers *timers)
{
    *timers = (struct timers){ .due_end = &timers->due };
}

void timers_done(struct timers *timers)
{
    VEC_EACH (&timers->heap, timer)
        (*timer)->place = 0;
    vec_done(&timers->heap);
}

bool timer_is_set(const struct timer *timer)
{
    return timer->place > 0 || timer->back;
}

/* --- the heap: place 1 is the earliest, the children of i are 2i and 2i+1 ------------- */

static bool is_timer_before(const struct timer *a, const struct timer *b)
{
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline;
    return a->turn < b->turn;
}

static struct timer *get_timer_at(const struct timers *timers, size_t place)
{
    return timers->heap.p[place - 1];
}

static void place_timer(struct timers *timers, size_t place, struct timer *timer)
{
    timers->heap.p[place - 1] = timer;
    timer->place = place;
}

static void sift_up(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place;

    for (; place > 1 && is_timer_before(timer, get_timer_at(timers, place / 2)); place /= 2)
        place_timer(timers, place, get_timer_at(timers, place / 2));
    place_timer(timers, place, timer);
}

static void sift_down(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place, n = timers->heap.n;

    for (size_t child; (child = place * 2) <= n; place = child) {
        if (child < n &&
            is_timer_before(get_timer_at(timers, child + 1), get_timer_at(timers, child)))
            child++;
        if (!is_timer_before(get_timer_at(timers, child), timer))
            break;
        place_timer(timers, place, get_timer_at(timers, child));
    }
    place_timer(timers, place, timer);
}

static void take_out_timer(struct timers *timers, struct timer *timer)
{
    struct timer *last = get_timer_at(timers, timers->heap.n);

    timers->heap.n--;
    if (last != timer) {
        place_timer(timers, timer->place, last);
        sift_up(timers, last);
        sift_down(timers, last);
    }
    timer->place = 0;
}

/* --- due ------------------------------------------------------------------------------- */

static void add_due(struct timers *timers, struct timer *timer)
{
    timer->next = NULL;
    timer->back = timers->due_end;
    *timers->due_end = timer;
    timers->due_end = &timer->next;
}

static void drop_due(struct timers *timers, struct timer *timer)
{
    *timer->back = timer->next;
    if (timer->next)
        timer->next->back = timer->back;
    else
        timers->due_end = timer->back;
    timer->next = NULL;
    timer->back = NULL;
}

/* --- public ---------------------------------------------------------------------------- */

void timer_clear(struct timers *timers, struct timer *timer)
{
    if (timer->place > 0)
        take_out_timer(timers, timer);
    else if (timer->back)
        drop_due(timers, timer);
}

void timer_set(struct timers *timers, struct timer *timer, int64_t deadline, timer_fn *fn)
{
    timer_clear(timers, timer);
    timer->deadline = deadline;
    timer->fn = fn;
    timer->turn = timers->turns++;
    VEC_PUSH(&timers->heap, timer);
    timer->place = timers->heap.n;
    sift_up(timers, timer);
}

int64_t timers_next(const struct timers *timers)
{
    return timers->heap.n > 0 ? timers->heap.p[0]->deadline : CLOCK_NEVER;
}

size_t timers_run(struct timers *timers, int64_t now)
{
    size_t count = 0;

    while (timers->heap.n > 0 && timers->heap.p[0]->deadline <= now) {
        struct timer *timer = timers->heap.p[0];

        take_out_timer(timers, timer);
        add_due(timers, timer);
    }
    for (struct timer *timer; (timer = timers->due); count++) {
        drop_due(timers, timer);
        timer->fn(timer);
    }
    return count;
}
