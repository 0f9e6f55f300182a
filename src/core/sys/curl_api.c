#include "core/sys/curl_api.h"

#include "core/base/library.h"
#include "core/base/mem.h"

struct curl_api curl_api;

static bool prepare_curl(void)
{
    return curl_api.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

static const struct library_symbol symbols[] = {
    { "curl_global_init", &curl_api.global_init },
    { "curl_easy_init", &curl_api.easy_init },
    { "curl_easy_setopt", &curl_api.easy_setopt },
    { "curl_easy_perform", &curl_api.easy_perform },
    { "curl_easy_getinfo", &curl_api.easy_getinfo },
    { "curl_easy_strerror", &curl_api.easy_strerror },
    { "curl_easy_cleanup", &curl_api.easy_cleanup },
    { "curl_slist_append", &curl_api.slist_append },
    { "curl_slist_free_all", &curl_api.slist_free_all },
};
static struct library library = { CURL_API_LIBRARY, symbols, ARRAY_LEN(symbols), prepare_curl, 0 };

bool curl_api_load(void)
{
    return library_get(&library);
}
