/*
 * curl_api - libcurl, loaded on first use, so that programs start fast.
 *
 * Only the types and numbers of curl's header are used; the functions come from this table, filled
 * by dlopen. For core/sys/fetch.c and core/sys/post.c.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_CURL_API_H
#define CORE_SYS_CURL_API_H

#include <curl/curl.h>
#include <stdbool.h>

#define CURL_API_LIBRARY "libcurl.so.4"

struct curl_api {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *easy);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    void (*easy_cleanup)(CURL *easy);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

extern struct curl_api curl_api;

/* False: it is not installed. */
bool curl_api_load(void);

#endif
