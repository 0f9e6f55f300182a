/*
 * Blocks form a list, newest first; each is twice the size of the one before,
 * up to BLOCK_MAX. Where large pages are wanted, one of them follows on the
 * block of LARGE_AFTER, and then another. Under the address sanitizer the unused part of a block
 * and a gap after each object are poisoned, so that an overrun is caught here as it would be on the
 * heap; `end` is then never past `next`, which sends every call the long way.
 */
#include "core/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT   _Alignof(max_align_t)
#define BLOCK_MIN   ((size_t)4 << 10)
#define BLOCK_MAX   ((size_t)1 << 20)
#define LARGE_AFTER ((size_t)512 << 10)
#define LARGE_PAGE  ((size_t)2 << 20)
/* From here on, blocks fault in all their pages at once: one fault per page takes three times as
 * long. */
#define FILLED_MIN ((size_t)64 << 10)
#define PAGE_SIZE  ((size_t)4 << 10)
/* Texts up to this size are formatted once, longer ones twice: first to learn the length. */
#define SHORT_TEXT_SIZE 256

struct arena_block {
    struct arena_block *older;
    size_t size;
    bool is_page; /* a large one, not of the heap */
    _Alignas(max_align_t) char bytes[];
};

/* Present only when the sanitizer is linked in. */
extern void __asan_poison_memory_region(void const volatile *p, size_t size) __attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *p, size_t size)
    __attribute__((weak));

static void poison_bytes(const void *p, size_t size)
{
    if (__asan_poison_memory_region)
        __asan_poison_memory_region(p, size);
}

static void unpoison_bytes(const void *p, size_t size)
{
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(p, size);
}

static size_t round_up(size_t size)
{
    size_t gap = __asan_poison_memory_region ? ALIGNMENT : 0;

    if (size > SIZE_MAX / 2)
        (void)mem_product(size,
                          SIZE_MAX); /* ends the process, like any size that cannot be allocated */
    return (size + gap + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

/* NULL: none. The sanitizer follows pointers only through heap blocks. */
static struct arena_block *map_page(void)
{
    char *p, *page;

    if (__asan_poison_memory_region)
        return NULL;
    p = mmap(NULL, 2 * LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    page = p + (LARGE_PAGE - (uintptr_t)p % LARGE_PAGE) % LARGE_PAGE;
    if (page > p)
        (void)munmap(p, (size_t)(page - p));
    (void)munmap(page + LARGE_PAGE, LARGE_PAGE - (size_t)(page - p));
    (void)madvise(page, LARGE_PAGE, MADV_HUGEPAGE); /* refused: it consists of small ones */
    return (struct arena_block *)(void *)page;
}

/* Refused by older kernels: then the pages come one by one. */
static void fill_pages(struct arena_block *block)
{
    const uintptr_t first = ((uintptr_t)block + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
    const uintptr_t end = (uintptr_t)(block->bytes + block->size) & ~(PAGE_SIZE - 1);

    (void)madvise((void *)first, end - first, MADV_POPULATE_WRITE);
}

static struct arena_block *new_block(const struct arena *arena, size_t least)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : BLOCK_MIN;
    const bool fits = arena->large && size > LARGE_AFTER && least <= LARGE_PAGE / 2;
    struct arena_block *block = fits ? map_page() : NULL;

    if (block) {
        block->is_page = true;
        block->size = LARGE_PAGE - sizeof(*block);
        return block;
    }
    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    if (size < least)
        size = least;
    block = mem_alloc(sizeof(*block) + size);
    block->is_page = false;
    block->size = size;
    if (size >= FILLED_MIN && (arena->large || size == least))
        fill_pages(block);
    return block;
}

/* The end of the newest block. */
static char *find_newest_end(const struct arena *arena)
{
    return arena->blocks ? arena->blocks->bytes + arena->blocks->size : NULL;
}

/* The next object begins at `next`. */
static void move_next(struct arena *arena, char *next)
{
    arena->next = next;
    arena->end = __asan_poison_memory_region ? next : find_newest_end(arena);
}

static void add_arena_block(struct arena *arena, size_t least)
{
    struct arena_block *block = new_block(arena, least);

    block->older = arena->blocks;
    arena->blocks = block;
    move_next(arena, block->bytes);
    poison_bytes(block->bytes, block->size);
}

static void *alloc_slowly(struct arena *arena, size_t size)
{
    size_t need = round_up(size > 0 ? size : 1);
    char *p;

    if (need > (size_t)(find_newest_end(arena) - arena->next))
        add_arena_block(arena, need);
    p = arena->next;
    move_next(arena, p + need);
    arena->used += need;
    unpoison_bytes(p, size);
    return p;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    char *p = arena->next;
    size_t need;

    if (size - 1 >= (size_t)(arena->end - p)) /* an empty one, too */
        return alloc_slowly(arena, size);
    need = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1); /* the rest is a multiple of it */
    arena->next = p + need;
    arena->used += need;
    return p;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    return memset(arena_alloc(arena, size), 0, size);
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);

    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

struct str arena_str(struct arena *arena, struct str text)
{
    return (struct str){ arena_strndup(arena, text.p, text.n), text.n };
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list args)
{
    char first[SHORT_TEXT_SIZE];
    va_list again;
    char *text;
    int size;

    va_copy(again, args);
    size = vsnprintf(first, sizeof(first), fmt, args);
    if (size < 0)
        size = 0; /* a broken multibyte conversion gives an empty text, not a crash */
    text = arena_alloc(arena, (size_t)size + 1);
    if ((size_t)size < sizeof(first))
        memcpy(text, first, (size_t)size);
    else
        (void)vsnprintf(text, (size_t)size + 1, fmt, again);
    text[size] = '\0';
    va_end(again);
    return text;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(arena, fmt, args);
    va_end(args);
    return text;
}

void *arena_grow(struct arena *arena, void *old, size_t old_size, size_t new_size)
{
    size_t had = round_up(old_size > 0 ? old_size : 1);
    size_t need = round_up(new_size);
    void *p;

    if (new_size <= old_size)
        return old;
    if (old && (char *)old + had == arena->next &&
        need - had <= (size_t)(find_newest_end(arena) - arena->next)) {
        move_next(arena, arena->next + (need - had));
        arena->used += need - had;
        unpoison_bytes(old, new_size);
        return old;
    }
    p = arena_alloc(arena, new_size);
    if (old_size > 0)
        memcpy(p, old, old_size);
    return p;
}

static void free_blocks(struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;

        unpoison_bytes(block->bytes, block->size);
        if (block->is_page)
            (void)munmap(block, LARGE_PAGE);
        else
            free(block);
        block = older;
    }
}

void arena_clear(struct arena *arena)
{
    struct arena_block *keep = arena->blocks;

    if (!keep)
        return;
    free_blocks(keep->older);
    keep->older = NULL;
    move_next(arena, keep->bytes);
    arena->used = 0;
    poison_bytes(keep->bytes, keep->size);
}

void arena_done(struct arena *arena)
{
    free_blocks(arena->blocks);
    *arena = (struct arena)ARENA_INIT;
}
