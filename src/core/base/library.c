#include "core/base/library.h"

#include <dlfcn.h>
#include <sched.h>

enum { ABSENT, BUSY, LOADED };

static bool load_symbols(const struct library *library)
{
    void *handle = dlopen(library->name, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle && i < library->count; i++) {
        void *found = dlsym(handle, library->symbols[i].name);

        if (!found)
            return false;
        *(void **)library->symbols[i].place = found; /* the cast that POSIX allows */
    }
    return handle && (!library->prepare || library->prepare());
}

/* A second thread waits while the first one loads: about a millisecond, once. */
bool library_get(struct library *library)
{
    for (;;) {
        int state = atomic_load(&library->state);

        if (state == LOADED)
            return true;
        if (state == ABSENT && atomic_compare_exchange_strong(&library->state, &state, BUSY)) {
            bool is_loaded = load_symbols(library);

            atomic_store(&library->state, is_loaded ? LOADED : ABSENT);
            return is_loaded;
        }
        (void)sched_yield();
    }
}
