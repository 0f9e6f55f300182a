#include "core/graph/reach.h"

#include <assert.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/vec.h"

#define WORD_BITS 64

struct reach {
    uint32_t size, count;
    uint64_t words[];
};

static size_t count_bitset_words(uint32_t size)
{
    return ((size_t)size + WORD_BITS - 1) / WORD_BITS;
}

struct reach *reach_new(struct arena *arena, uint32_t size)
{
    struct reach *reach =
        arena_zalloc(arena, sizeof(*reach) + count_bitset_words(size) * sizeof(reach->words[0]));

    reach->size = size;
    return reach;
}

void reach_clear(struct reach *reach)
{
    memset(reach->words, 0, count_bitset_words(reach->size) * sizeof(reach->words[0]));
    reach->count = 0;
}

bool reach_has(const struct reach *reach, uint32_t node)
{
    assert(node < reach->size);
    return reach->words[node / WORD_BITS] >> node % WORD_BITS & 1;
}

bool reach_add(struct reach *reach, uint32_t node)
{
    if (reach_has(reach, node))
        return false;
    reach->words[node / WORD_BITS] |= UINT64_C(1) << node % WORD_BITS;
    reach->count++;
    return true;
}

uint32_t reach_count(const struct reach *reach)
{
    return reach->count;
}

uint32_t reach_next(const struct reach *reach, uint32_t from)
{
    size_t i = from / WORD_BITS;
    uint64_t word;

    if (from >= reach->size)
        return REACH_END;
    word = reach->words[i] & UINT64_MAX << from % WORD_BITS;
    while (word == 0) {
        if (++i == count_bitset_words(reach->size))
            return REACH_END;
        word = reach->words[i];
    }
    return (uint32_t)(i * WORD_BITS) + (uint32_t)__builtin_ctzll(word);
}

void reach_extend(struct reach *reach, const struct dag *dag, enum dag_way way, uint32_t types)
{
    AUTO_FREE uint32_t *stack = mem_alloc(mem_product(reach->size, sizeof(*stack)));
    uint32_t n = 0;

    assert(reach->size == dag_count(dag));
    REACH_EACH (reach, node)
        stack[n++] = node;
    while (n > 0) {
        struct dag_links links = dag_links(dag, stack[--n], way);

        VEC_EACH (&links, link)
            if ((types & DAG_TYPE(link->type)) && reach_add(reach, link->node))
                stack[n++] = link->node;
    }
}
