#include "fleet/master/peels/question_share.h"

struct asker {
    struct lru_item item;
    struct question_account account;
};

static int64_t find_question_wait(const struct question_account *account, int64_t part,
                                  int64_t burst, int64_t now)
{
    const int64_t wait = account->even_at - now - burst * part;

    return wait > 0 ? wait : 0;
}

/* Charged even beyond the burst: the cost of a question is known only afterwards. */
static void add_use(struct question_account *account, int64_t part, int64_t used, int64_t now)
{
    account->even_at = (account->even_at > now ? account->even_at : now) + used * part;
}

void question_share_init(struct question_share *share)
{
    *share = (struct question_share){ 0 };
    lru_init(&share->each, QUESTION_PEELS_MAX, sizeof(struct asker));
}

void question_share_done(struct question_share *share)
{
    lru_done(&share->each);
}

int64_t question_share_wait(struct question_share *share, struct str peel, int64_t now)
{
    const struct asker *asker;
    int64_t all, own = 0;

    if (peel.n == 0)
        return find_question_wait(&share->others, QUESTION_OTHERS_PART, QUESTION_OTHERS_BURST, now);
    all = find_question_wait(&share->peels, QUESTION_PEELS_PART, QUESTION_PEELS_BURST, now);
    asker = lru_find(&share->each, peel);
    if (asker)
        own = find_question_wait(&asker->account, QUESTION_PEEL_PART, QUESTION_PEEL_BURST, now);
    return own > all ? own : all;
}

void question_share_charge(struct question_share *share, struct str peel, int64_t used, int64_t now)
{
    struct asker *asker;

    if (used < QUESTION_LEAST_NS)
        used = QUESTION_LEAST_NS;
    if (peel.n == 0) {
        add_use(&share->others, QUESTION_OTHERS_PART, used, now);
        return;
    }
    asker = lru_get(&share->each, peel);
    add_use(&asker->account, QUESTION_PEEL_PART, used, now);
    add_use(&share->peels, QUESTION_PEELS_PART, used, now);
}
