#include "commands/migrate/salt_tree.h"

#include "core/base/diag.h"
#include "core/base/mem.h"
#include "core/data/shebang.h"

#define PGP_MARK "-----BEGIN PGP MESSAGE-----"

/* Folders of modules in Python, and what stands in for them. */
static const struct extension {
    const char *folder;
    const char *hint;
} extensions[] = {
    { "_beacons/", "see docs/reference/reactor.md" },
    { "_engines/", "use the reactor" },
    { "_executors/", NULL },
    { "_grains/", "set custom facts with 'facts.set', or in the file of facts" },
    { "_matchers/", NULL },
    { "_modules/", "use cmd.run, or cmd.script" },
    { "_outputters/", "use --out json" },
    { "_pillar/", "write settings files" },
    { "_proxy/", NULL },
    { "_renderers/", NULL },
    { "_returners/", "watch events" },
    { "_runners/", "use jobs, or the reactor" },
    { "_sdb/", "use settings with !secret" },
    { "_serializers/", NULL },
    { "_states/", "use cmd.run with 'unless', or cmd.script with 'stateful'" },
    { "_tops/", NULL },
    { "_utils/", NULL },
    { "_wheel/", NULL },
};

bool salt_tree_skips(const char *name)
{
    return name[0] == '.' && (str_is(str_from(name), ".git") || str_is(str_from(name), ".hg") ||
                              str_is(str_from(name), ".svn"));
}

/* In a clone of a formula, at its top: how the formula is tested and released. */
static const char *const tooling[] = {
    "AUTHORS",
    "CHANGELOG",
    "CODEOWNERS",
    "CODE_OF_CONDUCT",
    "CONTRIBUTING",
    "FORMULA",
    "Gemfile",
    "LICENSE",
    "Makefile",
    "README",
    "Rakefile",
    "VERSION",
    "Vagrantfile",
    "bin",
    "commitlint.config",
    "docs",
    "kitchen.yml",
    "package-lock.json",
    "package.json",
    "pillar.example",
    "pre-commit_semantic-release",
    "pylintrc",
    "release-rules",
    "release.config",
    "renovate",
    "requirements",
    "test",
    "tests",
    "tox",
};

bool salt_tree_is_formula(const char *name)
{
    static const char *const marks[] = { "FORMULA", "kitchen.yml", ".kitchen.yml", "Gemfile" };

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (str_is(str_from(name), marks[i]))
            return true;
    return false;
}

bool salt_tree_omits(const char *name)
{
    if (name[0] == '.')
        return true;
    if (str_ends(str_from(name), STR(".sls")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(tooling); i++) {
        const struct str word = str_from(tooling[i]);

        if (str_starts(str_from(name), word) && (!name[word.n] || name[word.n] == '.'))
            return true;
    }
    return false;
}

bool salt_tree_takes(const char *path, const char *name, struct diags *remarks)
{
    const struct place at = { .file = name, .line = 1 };

    for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
        if (!str_starts(str_from(path), str_from(extensions[i].folder)))
            continue;
        (void)diag_add(remarks, at, "modules in Python do not run here");
        if (extensions[i].hint)
            diag_hint(remarks, "%s", extensions[i].hint);
        return false;
    }
    return true;
}

/* The line of `found` in `text`, from 1. */
static uint32_t find_node_line(struct str text, size_t found)
{
    uint32_t line = 1;

    for (size_t i = 0; i < found; i++)
        line += text.p[i] == '\n';
    return line;
}

bool salt_tree_judge(const char *name, struct str text, struct diags *remarks)
{
    bool is_template, fine = shebang_read(name, text, &is_template, remarks) == 0;
    size_t found = str_find(text, STR(PGP_MARK), 0);

    if (found == STR_NONE)
        return fine;
    (void)diag_add(remarks, (struct place){ .file = name, .line = find_node_line(text, found) },
                   "values that are encrypted with GPG are not decrypted here");
    diag_hint(remarks, "decrypt it, and mark the value with !secret");
    return false;
}
