#include "base/md5.h"

#include "test.h"

TEST(known_digests_of_messages_around_the_size_of_a_block)
{
    static const struct {
        size_t n;
        const char *digest;
    } cases[] = {
        { 0, "d41d8cd98f00b204e9800998ecf8427e" },   { 3, "47bce5c74f589f4867dbd57e9ca9f808" },
        { 55, "ef1772b6dff9a122358552954ad0df65" },  { 56, "3b0c8ac703f828b04c6c197006d17218" },
        { 63, "b06521f39153d618550606be297466d5" },  { 64, "014842d480b571495a4a0363793f7367" },
        { 65, "c743a45e0d2e6a95cb859adae0248435" },  { 119, "8a7bd0732ed6a28ce75f6dabc90e1613" },
        { 120, "5f61c0ccad4cac44c75ff505e1f1e537" }, { 1000, "cabe45dcc9ae5b66ba86600cca6b8ba8" },
    };
    char message[1000], text[MD5_HEX_SIZE];

    memset(message, 'a', sizeof(message));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        md5_hex(message, cases[i].n, text);
        CHECK_STR(text, cases[i].digest);
    }
}
