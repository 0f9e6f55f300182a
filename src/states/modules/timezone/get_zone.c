/* timezone.get_zone - returns the system time zone. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define FOLDER        "/zoneinfo/"
#define NAME_MAX_SIZE 4096

static int get_zone_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const char *link;
    struct str text;
    size_t at;

    (void)args;
    if (fs_readlink(run->arena, "/etc/localtime", &link, err) < 0)
        return -1;
    at = link ? str_find(str_from(link), STR(FOLDER), 0) : STR_NONE;
    if (at != STR_NONE) {
        *ret = value_text(link + at + sizeof(FOLDER) - 1);
        return 0;
    }
    if (fs_read(run->arena, "/etc/timezone", NAME_MAX_SIZE, &text, err) < 0)
        return -1;
    *ret = text.p ? value_str(arena_str(run->arena, str_trim(text))) : value_text("UTC");
    return 0;
}

const struct module module_timezone_get_zone = {
    .name = "timezone.get_zone",
    .summary = "the system time zone",
    .params = params_none,
    .call = get_zone_call,
};
