#include "kepler/logs/log_filter.h"

#include <string.h>

#include "kepler/logs/log_line.h"
#include "kepler/logs/segment_index.h"

static bool wants_service(const struct log_filter *filter, const char *service)
{
    for (size_t i = 0; i < filter->service_count; i++)
        if (strcmp(filter->services[i], service) == 0)
            return true;
    return filter->service_count == 0;
}

bool log_filter_wants_source(const struct log_filter *filter, const struct segment_source *source)
{
    if (filter->no_hooks && source->hook[0] != '\0')
        return false;
    if (filter->hook && strcmp(filter->hook, source->hook) != 0)
        return false;
    return wants_service(filter, source->service);
}

bool log_filter_wants_time(const struct log_filter *filter, int64_t min, int64_t max)
{
    return (!filter->since || max >= filter->since) && (!filter->until || min < filter->until);
}

bool log_filter_wants_span(const struct log_filter *filter, const struct segment_mask *mask,
                           const struct segment_span *span)
{
    return segment_mask_meets(mask, &span->services) &&
           log_filter_wants_time(filter, span->time_min, span->time_max);
}

bool log_filter_reads_lines(const struct log_filter *filter)
{
    return filter->levels || filter->match;
}

bool log_filter_wants_line(const struct log_filter *filter, const struct log_line *line)
{
    if (filter->levels && !(filter->levels & 1U << log_line_level(line)))
        return false;
    return !filter->match || filter->match(filter->self, line);
}

struct segment_mask log_filter_mask(const struct log_filter *filter)
{
    struct segment_mask mask = { { 0 } };

    if (filter->service_count == 0)
        memset(&mask, 0xff, sizeof(mask));
    for (size_t i = 0; i < filter->service_count; i++)
        segment_mask_add(&mask, filter->services[i]);
    return mask;
}
